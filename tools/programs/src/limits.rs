//! What is known to compile and go wrong all the same: which findings are rows of docs/limits.md.

use crate::judge::Memory;

/// A finding that the types are known not to prevent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The rule of the finding, or its word where it has none.
    pub rule: &'static str,
    /// The memory that it is about; `None`: any.
    pub memory: Option<Memory>,
    /// What the program has to hold for the row to speak of it; empty: anything.
    pub with: &'static str,
    /// The heading in docs/limits.md.
    pub heading: &'static str,
}

/// All of them.
pub const LIMITS: &[Limit] = &[
    Limit {
        rule: "F4",
        memory: None,
        with: "rank() ==",
        heading: "Threads of a set that do not do the same",
    },
    Limit { rule: "endless", memory: None, with: "", heading: "Waiting for each other" },
    Limit {
        rule: "B7",
        memory: Some(Memory::Global),
        with: "",
        heading: "Two writers of one tile",
    },
    Limit {
        rule: "uninitialised",
        memory: None,
        with: "",
        heading: "Memory that nobody has written",
    },
    Limit {
        rule: "E2",
        memory: Some(Memory::Registers),
        with: "mem::forget",
        heading: "Registers of `wgmma`",
    },
];

/// The row that speaks of a finding in a program of this text.
pub fn find(rule: &str, memory: Memory, text: &str) -> Option<&'static Limit> {
    LIMITS.iter().find(|limit| {
        limit.rule == rule
            && limit.memory.is_none_or(|of| of == memory)
            && text.contains(limit.with)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_heading_of_the_page() {
        let path = crate::root().join("docs/limits.md");
        let page = std::fs::read_to_string(path).unwrap();
        for limit in LIMITS {
            let heading = format!("## {}", limit.heading);
            assert!(page.lines().any(|line| line == heading), "{limit:?}");
        }
    }
}
