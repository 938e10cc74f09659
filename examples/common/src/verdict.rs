//! Whether a result is right, element by element.

use std::fmt::Debug;

use baton_host::LaunchReport;
use baton_host::baton_emulator::{Hazard, Severity};

/// What a comparison of all elements found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Elements compared.
    pub elements: usize,
    /// How many of them are wrong.
    pub wrong: usize,
    /// The first that is wrong, in words.
    pub first: Option<String>,
}

impl Verdict {
    /// Compares values that have to be the same to the last bit.
    pub fn exact<T: PartialEq + Debug>(expected: &[T], found: &[T]) -> Self {
        let mut verdict = Self::default();
        if expected.len() != found.len() {
            let lengths = format!("{} elements instead of {}", found.len(), expected.len());
            verdict.element(false, || lengths);
        }
        for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
            verdict.element(expected == found, || {
                format!("element {at} is {found:?} and should be {expected:?}")
            });
        }
        verdict
    }

    /// Counts one element.
    pub fn element(&mut self, right: bool, describe: impl FnOnce() -> String) {
        self.elements += 1;
        if !right {
            self.wrong += 1;
            self.first.get_or_insert_with(describe);
        }
    }

    /// Whether all elements are right.
    pub fn is_right(&self) -> bool {
        self.wrong == 0 && self.elements > 0
    }
}

/// A launch and what it computed.
#[derive(Debug)]
pub struct Outcome {
    /// What the launch says of itself.
    pub launch: LaunchReport,
    /// Whether the results are right.
    pub verdict: Verdict,
}

impl Outcome {
    /// Whether the results are right and the emulator found no error.
    pub fn is_verified(&self) -> bool {
        let is_error = |hazard: &Hazard| hazard.severity == Severity::Error;
        self.verdict.is_right() && !self.launch.hazards.iter().any(is_error)
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict;

    #[test]
    fn the_first_wrong_element_is_named() {
        assert!(Verdict::exact(&[1, 2, 3], &[1, 2, 3]).is_right());
        let verdict = Verdict::exact(&[1, 2, 3], &[1, 5, 6]);
        assert_eq!((verdict.elements, verdict.wrong), (3, 2));
        assert_eq!(verdict.first.as_deref(), Some("element 1 is 5 and should be 2"));
    }

    #[test]
    fn nothing_compared_is_nothing_verified() {
        assert!(!Verdict::exact::<u32>(&[], &[]).is_right());
        assert!(!Verdict::exact(&[1], &[]).is_right());
    }
}
