//! Rule F4: what a set of threads executes together, all of them have to reach, and equally often.
//!
//! For each kernel the control flow, its functions copied in ([`inline`]), is brought into single assignment ([`ssa`]), and of
//! every value it is found out which threads hold the same ([`solve`]): a partition of the threads of a CTA or cluster, or
//! their very numbers where these follow from which thread it is ([`space`], [`transfer`]). A collective is in order if every
//! branch on which it depends goes one way for all threads of its set ([`region`], [`judge`]). One analysis serves warps,
//! groups, CTAs and clusters.
//!
//! *Never reported wrongly* is code in which every condition around a collective is computed from kernel parameters, loop
//! counters, block indices, what was loaded by plain loads from addresses of that kind, and what warps computed together.
//! *Reported although it may be right*: equality that only a protocol guarantees (a strong load of what nobody writes any
//! more), for which there is the hatch `same`; equality through the stack, which is one cell here; and two arms that each hold
//! the collective, which the ISA allows and the library does not.
//!
//! *Missed*: what is decided by memory that others write at the same time (a race, which the emulator looks for), and
//! collectives behind calls that are not followed, which is told as a warning.

mod alike;
mod code;
mod ends;
mod facts;
mod fold;
mod inline;
mod judge;
mod lanes;
mod multiple;
mod region;
mod report;
mod rounds;
mod site;
mod solve;
mod space;
mod special;
mod ssa;
mod transfer;

use std::collections::BTreeSet;

use baton_ptx::lines::LineTable;
use baton_ptx::{Function, FunctionKind, Module};

use self::code::Code;
use self::inline::{Functions, Inlined};
use self::region::Regions;
use self::solve::Solution;
use self::space::Space;
use self::ssa::Ssa;
use super::Finding;

pub(crate) use self::space::Launch;

/// Threads of a CTA where nothing says how many there are.
const THREADS: u32 = 128;

/// Everything that rule F4 says of the kernels of a module.
pub(super) fn check(module: &Module, lines: &LineTable) -> Vec<Finding> {
    check_launched(module, lines, |_| None)
}

/// The same, with the threads of a CTA for kernels that do not say how many they have.
pub(super) fn check_launched(
    module: &Module,
    lines: &LineTable,
    threads: impl Fn(&str) -> Option<[u32; 3]>,
) -> Vec<Finding> {
    let functions = Functions::of(module);
    let kernels = module.functions.iter().filter(|f| f.kind == FunctionKind::Entry);
    let mut findings = Vec::new();
    for kernel in kernels.filter(|kernel| functions.holds(&kernel.name)) {
        if let Some(inlined) = functions.inline(kernel) {
            findings.extend(kernel_findings(
                &functions,
                inlined,
                launch(kernel, threads(&kernel.name)),
                lines,
            ));
        }
    }
    findings
}

/// How a kernel is launched, from its directives.
fn launch(kernel: &Function, threads: Option<[u32; 3]>) -> Launch {
    let shape = |name: &str| {
        let args = kernel.directive(name)?;
        let at = |i: usize| args.get(i).map_or(1, |&n| n.clamp(1, 1024) as u32);
        Some([at(0), at(1), at(2)])
    };
    let threads = shape("reqntid").or(threads).or_else(|| shape("maxntid"));
    Launch {
        threads: threads.unwrap_or([THREADS, 1, 1]),
        cluster: shape("reqnctapercluster").unwrap_or([1; 3]),
    }
}

fn kernel_findings(
    functions: &Functions<'_>,
    inlined: Inlined,
    launch: Launch,
    lines: &LineTable,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = inlined
        .hidden
        .iter()
        .map(|(line, why)| {
            let text = format!("rule F4 is not checked behind this call: {why}");
            Finding::at(text, *line, lines).into_warning()
        })
        .collect();
    let unplaced = inlined.unplaced;
    let code = Code::new(inlined.body, inlined.marks, |instruction| functions.ends(instruction));
    let ssa = Ssa::of(&code);
    let regions = Regions::of(&code.graph);
    let mut space = Space::new(launch);
    let line = |block: usize| {
        let instruction = code.body.instructions.get(code.graph.blocks[block].first);
        instruction.map_or(code.body.line, |instruction| instruction.line)
    };
    if let Some(block) = regions.irreducible {
        let text = "rule F4 is not fully checked in this kernel: a loop is entered at several places, here among them";
        findings.push(Finding::at(text, line(block), lines).into_warning());
    }
    let Some(solution) = Solution::of(&mut space, &code, &ssa, &regions) else {
        let text = "rule F4 is not checked in this kernel: it is too intricate";
        findings.push(Finding::at(text, line(0), lines).into_warning());
        return findings;
    };
    let arrivals = judge::arrivals(&mut space, &solution);
    let followed = inlined.hidden.is_empty();
    findings.extend(ends::findings(&mut space, &solution, &arrivals, &unplaced, lines));
    // Copies of one place of the source are one mistake.
    let mut told = BTreeSet::new();
    for verdict in judge::verdicts(&mut space, &solution, &arrivals, followed) {
        let finding = report::finding(&mut space, &solution, &verdict, lines);
        let places: Vec<_> = std::iter::once(finding.place().map(ToString::to_string))
            .chain(finding.notes.iter().map(|note| note.place().map(ToString::to_string)))
            .collect();
        let unknown = finding.place().is_none();
        if unknown || told.insert((finding.message.clone(), places)) {
            findings.push(finding);
        }
    }
    findings
}

#[cfg(test)]
mod tests;
