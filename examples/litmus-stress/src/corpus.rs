//! What the program needs of a litmus file: the outcome in question, and whether the model allows it.

use std::fmt;

/// Whether an outcome is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allows {
    /// The model forbids it.
    Never,
    /// The model allows it.
    Maybe,
}

impl fmt::Display for Allows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "forbidden",
            Self::Maybe => "allowed",
        })
    }
}

/// A litmus file, as far as it is of use here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Litmus {
    /// The values of the registers that the condition names, in its order: a kernel's result slots.
    pub outcome: Vec<u32>,
    /// What the file expects of the model.
    pub verdict: Allows,
}

impl Litmus {
    /// Reads a file whose condition is a conjunction of registers and numbers.
    pub fn read(text: &str) -> Result<Self, String> {
        let line = |key: &str| {
            let mut lines =
                text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            lines
                .next()
                .map(str::trim)
                .ok_or_else(|| format!("the litmus file has no line `{key}:`"))
        };
        let outcome = line("exists")?
            .split("&&")
            .map(|term| {
                let value = term.split_once("==").and_then(|(_, value)| value.trim().parse().ok());
                value.ok_or_else(|| format!("`{}` does not compare with a number", term.trim()))
            })
            .collect::<Result<_, _>>()?;
        let verdict = match line("expect")? {
            "forbidden" => Allows::Never,
            "allowed" => Allows::Maybe,
            other => {
                return Err(format!("the litmus file expects `{other}`: forbidden or allowed"));
            }
        };
        Ok(Self { outcome, verdict })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_and_verdict_are_read() {
        let text =
            "name: x\n# exists: no\nexists: T1:r0 == 1 && T1:r1 == 0\nexpect: allowed\nrace: no\n";
        let litmus = Litmus { outcome: vec![1, 0], verdict: Allows::Maybe };
        assert_eq!(Litmus::read(text), Ok(litmus));
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        assert!(
            Litmus::read("exists: T0:r0 == T1:r0\nexpect: allowed").unwrap_err().contains("T1")
        );
        assert!(
            Litmus::read("exists: T0:r0 == 1\nexpect: perhaps").unwrap_err().contains("perhaps")
        );
        assert!(Litmus::read("exists: T0:r0 == 1").unwrap_err().contains("`expect:`"));
    }
}
