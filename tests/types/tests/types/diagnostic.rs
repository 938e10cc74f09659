//! What of a diagnostic comes from the library.
//!
//! Places (`-->`) and quoted lines of the program itself do not count: a program could quote the
//! rule in its own names. Quoted lines of the library do: where only a move expresses a rule, the
//! rule stands in the comment beside the consuming `self`, and rustc prints that line.

/// The diagnostic without places and without what it quotes from the program.
pub fn library_text(stderr: &str) -> String {
    let mut text = String::new();
    let mut quotes_library = false;
    for line in stderr.lines() {
        let trimmed = line.trim_start();
        if let Some(place) = trimmed.strip_prefix("--> ").or_else(|| trimmed.strip_prefix("::: ")) {
            quotes_library = place.contains("kernel-lib/src/");
        } else if !is_quote(trimmed) || quotes_library {
            text += line;
            text.push('\n');
        }
    }
    text
}

/// `12 | let x = …`, `   |     ^^^ label`, `...` between quoted lines.
fn is_quote(line: &str) -> bool {
    line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().starts_with('|')
        || line == "..."
}

/// Whether `word` occurs with nothing on its sides that would make it part of another one.
pub fn has_word(text: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !before.ends_with(part_of_word) && !after.starts_with(part_of_word)
    })
}

/// A program without its line comments.
pub fn without_comments(source: &str) -> String {
    let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned() + "\n";
    source.lines().map(code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STDERR: &str = "\
error[E0277]: the accumulator was not fenced
  --> ../compile-fail/D1_x.rs:12:9
   |
12 |     acc.ld(); // D2
   |         ^^ D3
   |
   = note: call `fence_after_thread_sync` first (rule D1)
note: `Accumulator::release` takes ownership
  --> $WORKSPACE/kernel-lib/src/tcgen05.rs
   |
   |     self, // D5: once released
   |     ^^^^
";

    #[test]
    fn only_the_program_s_own_lines_are_left_out() {
        let text = library_text(STDERR);
        for (rule, said) in [("D1", true), ("D2", false), ("D3", false), ("D5", true)] {
            assert_eq!(has_word(&text, rule), said, "{rule} in\n{text}");
        }
    }

    #[test]
    fn a_longer_id_is_another_id() {
        assert!(has_word("rule D1: …", "D1"));
        assert!(!has_word("rule D11: …, AD1, D1_x", "D1"));
    }

    #[test]
    fn comments_of_a_program_are_left_out() {
        assert!(!has_word(&without_comments("//! D1\nlet x = 1; // D1\n"), "D1"));
        assert!(has_word(&without_comments("struct D1; // x\n"), "D1"));
    }
}
