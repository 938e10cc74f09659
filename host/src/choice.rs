//! Which device to open.

use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// The variable that overrides [`Choice::Auto`].
pub(crate) const OVERRIDE: &str = "BATON_DEVICE";

/// Which device to open.
///
/// Reads from text as `auto`, `gpu`, `gpu:N` or `emulator`, so that it can be an option of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The first GPU that can run the image, else the emulator; `BATON_DEVICE` overrides.
    #[default]
    Auto,
    /// The GPU of that number.
    Gpu(usize),
    /// The emulator.
    Emulator,
}

impl Choice {
    /// What counts when the variable [`OVERRIDE`] has this value: a choice that was made outweighs it,
    /// and an empty value is none.
    pub(crate) fn overridden_by(self, variable: Option<&OsStr>) -> Result<Self, Error> {
        match variable {
            Some(given) if self == Self::Auto && !given.is_empty() => {
                given.to_string_lossy().parse()
            }
            _ => Ok(self),
        }
    }
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "auto" => Ok(Self::Auto),
            "gpu" => Ok(Self::Gpu(0)),
            "emulator" => Ok(Self::Emulator),
            _ => text
                .strip_prefix("gpu:")
                .and_then(|index| index.parse().ok())
                .map(Self::Gpu)
                .ok_or_else(|| Error::BadChoice { given: text.into() }),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Gpu(index) => write!(f, "gpu:{index}"),
            Self::Emulator => f.write_str("emulator"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_reads_what_it_prints() {
        for choice in [Choice::Auto, Choice::Gpu(0), Choice::Gpu(7), Choice::Emulator] {
            assert_eq!(choice.to_string().parse::<Choice>().ok(), Some(choice));
        }
        assert_eq!("gpu".parse::<Choice>().ok(), Some(Choice::Gpu(0)));
        for bad in ["", "GPU", "gpu:", "gpu:-1", "gpu:1x", "cpu"] {
            let error = bad.parse::<Choice>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{bad}` is no device")), "{error}");
        }
    }

    #[test]
    fn the_variable_overrides_auto_only() {
        let over = |choice: Choice, variable: Option<&str>| {
            choice.overridden_by(variable.map(OsStr::new)).ok()
        };
        assert_eq!(over(Choice::Auto, None), Some(Choice::Auto));
        assert_eq!(over(Choice::Auto, Some("")), Some(Choice::Auto));
        assert_eq!(over(Choice::Auto, Some("emulator")), Some(Choice::Emulator));
        assert_eq!(over(Choice::Auto, Some("gpu:2")), Some(Choice::Gpu(2)));
        assert_eq!(over(Choice::Auto, Some("none")), None);
        assert_eq!(over(Choice::Gpu(1), Some("emulator")), Some(Choice::Gpu(1)));
    }
}
