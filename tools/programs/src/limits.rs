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
    /// Where in the library the finding is; empty: anywhere.
    pub at: &'static str,
    /// The heading in docs/limits.md.
    pub heading: &'static str,
}

/// All of them.
pub const LIMITS: &[Limit] = &[
    Limit {
        rule: "F4",
        memory: None,
        with: "rank() ==",
        at: "",
        heading: "Threads of a set that do not do the same",
    },
    Limit { rule: "endless", memory: None, with: "", at: "", heading: "Waiting for each other" },
    Limit {
        rule: "B7",
        memory: Some(Memory::Global),
        with: "",
        at: "",
        heading: "Two writers of one tile",
    },
    // An accumulator without any `mma`. A bulk store of a staging buffer that nobody wrote names global memory first, and so does
    // what reads an array there; a ring's stages and an exchange's regions are in shared memory, and have no row.
    Limit {
        rule: "uninitialised",
        memory: Some(Memory::Tensor),
        with: "",
        at: "",
        heading: "Memory that nobody has written",
    },
    Limit {
        rule: "uninitialised",
        memory: Some(Memory::Global),
        with: "",
        at: "",
        heading: "Memory that nobody has written",
    },
    Limit {
        rule: "E2",
        memory: Some(Memory::Registers),
        with: "mem::forget",
        at: "",
        heading: "Registers of `wgmma`",
    },
    Limit {
        rule: "stale-read",
        memory: Some(Memory::Global),
        with: "Queue<",
        at: "protocol/queue.rs",
        heading: "A queue that says it is empty or full",
    },
];

/// The row that speaks of a finding in a program of this text, with this report.
pub fn find(rule: &str, memory: Memory, text: &str, report: &str) -> Option<&'static Limit> {
    // A report names first where it is.
    let place = report.lines().find(|line| line.trim_start().starts_with("here:"));
    LIMITS.iter().find(|limit| {
        limit.rule == rule
            && limit.memory.is_none_or(|of| of == memory)
            && text.contains(limit.with)
            && (limit.at.is_empty() || place.is_some_and(|place| place.contains(limit.at)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_that_nobody_wrote_has_no_row() {
        assert!(find("uninitialised", Memory::Tensor, "", "").is_some());
        assert_eq!(find("uninitialised", Memory::Shared, "", ""), None);
        assert_eq!(find("B7", Memory::Shared, "", ""), None);
        assert_eq!(find("E2", Memory::Registers, "product.fence(&mut wg)", ""), None);
    }

    #[test]
    fn an_old_value_is_a_row_of_queues_alone() {
        let queue = "error: …\n  here:    PTX line 1 at src/atomic.rs:1, called from src/protocol/queue.rs:80";
        let lock = "error: …\n  here:    PTX line 1 at src/atomic.rs:1\n  not enough: src/protocol/queue.rs:71";
        let (of, text) = (Memory::Global, "q: Queue<u32>");
        assert!(find("stale-read", of, text, queue).is_some());
        assert_eq!(find("stale-read", of, text, lock), None);
        assert_eq!(find("stale-read", of, "", queue), None);
    }

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
