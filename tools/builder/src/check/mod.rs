//! Rules that the compiler does not know, checked on the PTX that it emitted.
//!
//! - [`uses`]: loads through the path that is outside the memory model, tokens that were dropped,
//!   symbols that nobody defines.
//! - [`collective`]: instructions that threads must reach together, copied into different arms of
//!   a branch.
//! - [`uniform`]: such instructions under branches that the threads may take differently.
//! - [`copies`]: copies into a stage that no way waits for.
//! - [`in_flight`]: products of `wgmma` that are forgotten while instructions write their registers.
//! - [`stack`]: local memory, where the author thinks of registers.
//! - Here: shared memory beyond what the target has.

mod collective;
mod copies;
mod in_flight;
mod stack;
mod uniform;
mod uses;

use std::fmt;

use baton_ptx::Module;
use baton_ptx::lines::{Frame, LineTable};

use crate::Arch;
use crate::post::annotations::Annotations;

pub(crate) use stack::spilled;

/// Whether a finding stops the build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Severity {
    /// There is no kernel.
    #[default]
    Error,
    /// It may be right, or could not be judged.
    Warning,
}

/// One broken rule, with its place in PTX and Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it stops the build.
    pub severity: Severity,
    /// What is wrong and what to do.
    pub message: String,
    /// 1-based line of the PTX, where it has one.
    pub ptx_line: Option<u32>,
    /// The Rust source of that line, innermost first.
    pub frames: Vec<Frame>,
    /// Other places that belong to it.
    pub notes: Vec<Note>,
}

/// Another place that a finding speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What is there.
    pub message: String,
    /// 1-based line of the PTX.
    pub ptx_line: u32,
    /// The Rust source of that line, innermost first.
    pub frames: Vec<Frame>,
}

/// The innermost frame that is neither in the device library nor in Rust's own.
fn authors_place(frames: &[Frame]) -> Option<&Frame> {
    let library = |frame: &&Frame| {
        frame.file.starts_with("library/") || frame.file.contains("kernel-lib/src/")
    };
    frames.iter().find(|frame| !library(frame)).or(frames.first())
}

impl Note {
    pub(crate) fn at(message: impl Into<String>, ptx_line: u32, lines: &LineTable) -> Self {
        Self { message: message.into(), ptx_line, frames: lines.get(ptx_line).to_vec() }
    }

    /// The place that the author will look at, as [`Finding::place`].
    pub fn place(&self) -> Option<&Frame> {
        authors_place(&self.frames)
    }
}

impl Finding {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            ptx_line: None,
            frames: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(crate) fn at(message: impl Into<String>, ptx_line: u32, lines: &LineTable) -> Self {
        let frames = lines.get(ptx_line).to_vec();
        Self { ptx_line: Some(ptx_line), frames, ..Self::new(message) }
    }

    pub(crate) fn into_warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }

    /// The place that its author will look at: the innermost that is neither in the device library
    /// nor in Rust's own.
    pub fn place(&self) -> Option<&Frame> {
        authors_place(&self.frames)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}", self.message)?;
        let place = self.place();
        if let Some(frame) = place {
            write!(f, "\n  --> {frame}")?;
            // Without its generic arguments, which can be longer than everything else.
            if let Some(function) = frame.function.as_ref().and_then(|name| name.split('<').next())
                && !function.is_empty()
            {
                write!(f, " in {function}")?;
            }
        }
        if let Some(line) = self.ptx_line {
            write!(f, "\n  PTX line {line}")?;
        }
        if self.frames.len() > 1 {
            let through: Vec<_> = self.frames.iter().map(Frame::to_string).collect();
            write!(f, ", through {}", through.join(" < "))?;
        }
        for note in &self.notes {
            write!(f, "\n  {}", note.message)?;
            if let Some(frame) = note.place() {
                write!(f, "\n    --> {frame}")?;
            }
            write!(f, "\n    PTX line {}", note.ptx_line)?;
        }
        Ok(())
    }
}

/// Everything that is wrong with a module.
pub(crate) fn check(
    module: &Module,
    lines: &LineTable,
    annotations: &Annotations,
    arch: Arch,
) -> Vec<Finding> {
    let mut findings = shared_memory(annotations, arch);
    findings.extend(uses::check(module, lines));
    let copied = collective::check(module, lines);
    // That the compiler copied it is the better explanation.
    let apart = |finding: &Finding| {
        finding.frames.is_empty() || copied.iter().all(|copy| copy.frames != finding.frames)
    };
    findings.extend(uniform::check(module, lines).into_iter().filter(apart));
    findings.extend(copied);
    findings.extend(in_flight::check(module, lines));
    findings.extend(copies::check(module, lines));
    findings.extend(stack::check(module, lines, annotations));
    findings
}

/// What rule F4 says of any PTX: collectives that threads of their set may reach differently. All of it is advice, since the
/// text may rely on what nobody but its author knows.
///
/// `threads` gives the threads of a CTA for kernels that do not say by `.reqntid` how many they have.
pub fn lint(
    module: &Module,
    lines: &LineTable,
    threads: impl Fn(&str) -> Option<[u32; 3]>,
) -> Vec<Finding> {
    let findings = uniform::check_launched(module, lines, threads);
    findings.into_iter().map(Finding::into_warning).collect()
}

fn shared_memory(annotations: &Annotations, arch: Arch) -> Vec<Finding> {
    let limit = arch.shared_memory();
    let too_large = annotations.kernels.iter().filter(|kernel| kernel.shared > limit);
    let finding = |kernel: &crate::post::annotations::Kernel| {
        Finding::new(format!(
            "kernel `{}` needs {} bytes of shared memory, and a CTA on {arch} has at most {limit}: \
             use fewer stages or smaller tiles",
            kernel.name, kernel.shared
        ))
    };
    too_large.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_points_at_the_author_and_shows_the_way() {
        let frame = |file: &str, line| Frame { file: file.into(), line, column: 9, function: None };
        let finding = Finding {
            ptx_line: Some(40),
            frames: vec![frame("kernel-lib/src/token.rs", 3), frame("kernel/src/lib.rs", 12)],
            ..Finding::new("a token was dropped")
        };
        assert_eq!(
            finding.to_string(),
            "error: a token was dropped\n  --> kernel/src/lib.rs:12:9\n  PTX line 40, through \
             kernel-lib/src/token.rs:3:9 < kernel/src/lib.rs:12:9"
        );
    }
}
