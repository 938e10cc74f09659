//! ptxas: the cubin, and what it says about registers.

use std::collections::BTreeMap;
use std::path::Path;

use baton_ptx::lines::LineTable;

use crate::check::Finding;
use crate::environment::Environment;
use crate::provision::cuda::Tool;
use crate::{Arch, Error};

/// What ptxas says about one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's stack frame.
    pub stack_bytes: u32,
    /// Bytes that a thread stores to and loads from local memory for want of registers, both as
    /// counted in the code.
    pub spill_bytes: u32,
    /// Bytes of static shared memory of a CTA.
    pub static_shared: u32,
    /// Barriers of a CTA.
    pub barriers: u32,
}

/// What came of a run.
pub(crate) enum Outcome {
    /// The cubin is written.
    Assembled(BTreeMap<String, Usage>),
    /// Its complaints.
    Refused(Vec<Finding>),
}

/// Assembles `ptx` to `cubin`.
pub(crate) fn assemble(
    env: &Environment,
    ptxas: &Tool,
    arch: Arch,
    ptx: &Path,
    cubin: &Path,
    lines: &LineTable,
) -> Result<Outcome, Error> {
    let output = env
        .command(&ptxas.path)
        .args(["--verbose", "--gpu-name", arch.name(), "--output-file"])
        .args([cubin, ptx])
        .output()
        .map_err(Error::io("run", &ptxas.path))?;
    // It writes to either stream, depending on the kind of message.
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said += &String::from_utf8_lossy(&output.stderr);
    let mut findings = complaints(&said, lines);
    if !output.status.success() && findings.is_empty() {
        findings.push(Finding::new(format!("{} ({})", said.trim(), output.status)));
    }
    if findings.is_empty() {
        Ok(Outcome::Assembled(usage(&said)))
    } else {
        Ok(Outcome::Refused(findings))
    }
}

/// Errors, and the remark that wgmma instructions run one after the other.
fn complaints(said: &str, lines: &LineTable) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut foreign: Option<(Finding, u32)> = None;
    for line in said.lines() {
        if line.contains("wgmma") && line.contains("serialized") {
            findings.push(Finding::new(format!(
                "{}: the kernel would run, many times slower; keep accumulators in registers and \
                 other code out of the time between wgmma and its wait",
                line.trim()
            )));
        }
        // `ptxas FILE, line 12; error   : message`
        let Some((place, message)) = line.split_once("; error") else { continue };
        let message = message.trim_start_matches([' ', ':']).trim();
        let ptx_line = place.rsplit_once("line ").and_then(|(_, number)| number.parse().ok());
        let finding = |message: &str| match ptx_line {
            Some(ptx_line) => Finding::at(message, ptx_line, lines),
            None => Finding::new(message),
        };
        // Of a kernel for another target, nearly every line is refused: one of them says it.
        if message.contains("not supported on .target") {
            let (_, others) = foreign.get_or_insert_with(|| (finding(message), 0));
            *others += 1;
        } else {
            findings.push(finding(message));
        }
    }
    if let Some((mut finding, refused)) = foreign {
        finding.message += &format!(
            ": {refused} uses in this kernel crate need another target; build it for the one that it was written for"
        );
        findings.insert(0, finding);
    }
    findings
}

/// The statistics of each entry.
fn usage(said: &str) -> BTreeMap<String, Usage> {
    let mut all: BTreeMap<String, Usage> = BTreeMap::new();
    let mut current: Option<String> = None;
    for line in said.lines() {
        if let Some(name) = line.split("entry function '").nth(1).and_then(|s| s.split('\'').next())
        {
            current = Some(name.to_owned());
            all.insert(name.to_owned(), Usage::default());
            continue;
        }
        // Functions that are called have properties, but no registers, of their own.
        if let Some((_, name)) = line.split_once("Function properties for ") {
            current = Some(name.trim().to_owned()).filter(|name| all.contains_key(name));
            continue;
        }
        let Some(usage) = current.as_ref().and_then(|name| all.get_mut(name)) else { continue };
        for part in line.rsplit(" : ").next().unwrap_or(line).split(',') {
            let mut words = part.split_whitespace().skip_while(|word| word.parse::<u32>().is_err());
            let Some(number) = words.next().and_then(|word| word.parse::<u32>().ok()) else {
                continue;
            };
            match words.collect::<Vec<_>>().join(" ").as_str() {
                "registers" => usage.registers = number,
                "bytes stack frame" => usage.stack_bytes = number,
                "bytes spill stores" | "bytes spill loads" => usage.spill_bytes += number,
                "bytes smem" => usage.static_shared = number,
                "barriers" => usage.barriers = number,
                _ => {}
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_ptx::lines::Frame;

    #[test]
    fn statistics_are_read() {
        let said = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_100a'
ptxas info    : Function properties for k
    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 30 registers, used 1 barriers, 8 bytes cumulative stack size, 1024 bytes smem, 380 bytes cmem[0]
ptxas info    : Compile time = 3.5 ms
ptxas info    : Function properties for helper
    64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
";
        let expected = Usage {
            registers: 30,
            stack_bytes: 8,
            spill_bytes: 28,
            static_shared: 1024,
            barriers: 1,
        };
        assert_eq!(usage(said), BTreeMap::from([("k".to_owned(), expected)]));
        assert!(complaints(said, &LineTable::new()).is_empty());
    }

    #[test]
    fn errors_are_led_back_to_rust() {
        let mut lines = LineTable::new();
        let file = "kernel/src/lib.rs".into();
        lines.insert(12, vec![Frame { file, line: 7, column: 5, function: None }]);
        let said = "ptxas /x/k.ptx, line 12; error   : Unknown symbol 'foo'\n\
                    ptxas fatal   : Ptx assembly aborted due to errors\n";
        let findings = complaints(said, &lines);
        assert_eq!(findings.len(), 1);
        let text = findings[0].to_string();
        assert!(text.contains("Unknown symbol 'foo'"), "{text}");
        assert!(text.contains("kernel/src/lib.rs:7:5"), "{text}");
    }

    #[test]
    fn a_kernel_for_another_target_is_one_error() {
        let refused = |line: u32| {
            format!(
                "ptxas k.ptx, line {line}; error   : Instruction 'tcgen05.ld' not supported on .target 'sm_90a'\n"
            )
        };
        let said: String = (1..=300).map(refused).collect();
        let findings = complaints(&said, &LineTable::new());
        let [finding] = &*findings else { panic!("{} findings", findings.len()) };
        assert!(finding.to_string().contains("300 uses"), "{finding}");
    }

    #[test]
    fn serialised_wgmma_is_an_error() {
        let said = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async \
                    instructions are serialized due to insufficient register resources";
        assert_eq!(complaints(said, &LineTable::new()).len(), 1);
    }
}
