//! Fences that order one way.
//!
//! `fence.acquire` and `fence.release` came with sm_90, and cost less than `fence.acq_rel`: no wait for earlier writes, or no
//! invalidated cache. The device library is compiled without knowing its target, so it writes `fence.acq_rel`, which every
//! target has, and in a comment before it what it needs.

use std::borrow::Cow;

use baton_ptx::Module;

/// The first compute capability that has them.
const FIRST: u32 = 90;

/// The text, with the weaker fences where the target has them. No line moves.
pub(super) fn one_way<'a>(module: &Module, raw: &'a str) -> Result<Cow<'a, str>, String> {
    let orders = module.comments.iter().filter_map(|comment| {
        let order = comment.text.strip_prefix("fence")?.trim();
        Some((comment.line, order))
    });
    let mut lines: Vec<Cow<'a, str>> = Vec::new();
    for (line, order) in orders {
        let bad = |what: &str| format!("line {line}: `//@baton fence {order}`: {what}");
        if !matches!(order, "acquire" | "release") {
            return Err(bad("is neither acquire nor release"));
        }
        if lines.is_empty() {
            lines = raw.split_inclusive('\n').map(Cow::from).collect();
        }
        // Lines count from 1, so this is the one below the comment.
        let fence = lines.get_mut(line as usize).filter(|line| line.contains("fence.acq_rel."));
        let fence = fence.ok_or_else(|| bad("no `fence.acq_rel` is on the next line"))?;
        if capability(module) >= FIRST {
            *fence = fence.replace("fence.acq_rel.", &format!("fence.{order}.")).into();
        }
    }
    Ok(if lines.is_empty() { raw.into() } else { lines.concat().into() })
}

/// The number in the target's name.
fn capability(module: &Module) -> u32 {
    let name = module.target.first().map_or("", String::as_str);
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::process;

    fn fence(target: &str, comment: &str, fence: &str) -> Result<String, String> {
        let raw = format!(
            ".version 8.0\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n\
             //@baton {comment}\n{fence}\nret;\n}}\n"
        );
        process(&raw, "k.ptx", &[]).map(|processed| processed.text)
    }

    #[test]
    fn one_way_where_the_target_can() {
        for (target, order, expected) in [
            ("sm_90a", "acquire", "fence.acquire.gpu;"),
            ("sm_90", "release", "fence.release.gpu;"),
            ("sm_100a", "acquire", "fence.acquire.gpu;"),
            ("sm_89", "acquire", "fence.acq_rel.gpu;"),
            ("sm_75", "release", "fence.acq_rel.gpu;"),
        ] {
            let text = fence(target, &format!("fence {order}"), "fence.acq_rel.gpu;").unwrap();
            assert!(text.contains(expected), "{target}, {order}:\n{text}");
        }
    }

    #[test]
    fn the_language_is_raised_to_what_has_them() {
        let text = fence("sm_90a", "fence acquire", "fence.acq_rel.gpu;").unwrap();
        assert!(text.starts_with(".version 8.6"), "{text}");
        let text = fence("sm_80", "fence acquire", "fence.acq_rel.gpu;").unwrap();
        assert!(text.starts_with(".version 8.0"), "{text}");
    }

    #[test]
    fn a_comment_without_its_fence_is_told() {
        let error = fence("sm_90a", "fence acquire", "bar.sync 0;").unwrap_err();
        assert!(error.contains("no `fence.acq_rel`"), "{error}");
        let error = fence("sm_90a", "fence sideways", "fence.acq_rel.gpu;").unwrap_err();
        assert!(error.contains("neither"), "{error}");
    }
}
