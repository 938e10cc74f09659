//! Instructions that a set of threads executes together, and which set it is.
//!
//! - A warp, or the lanes that a member mask names: `bar.warp.sync`, `shfl.sync` and their like (PTX ISA 9.7.9.6 and 9.7.13),
//!   matrix instructions, and whatever else is `.sync.aligned`.
//! - A warpgroup: `wgmma` and `setmaxnreg` (9.7.15, 9.7.19.5).
//! - A CTA, or as many of its threads as a barrier counts: `bar` and `barrier…aligned` (9.7.13.1).
//! - A cluster: `barrier.cluster` (9.7.13.4).
//! - Places where the device library says that a set comes together ([`super::inline`]): `baton.roles` a CTA, `baton.agree` the set
//!   that it names.
//!
//! `barrier` without `.aligned` lets each thread come by its own way, and is no site.

use baton_ptx::{Instruction, Operand};

/// Who must come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Set<'a> {
    /// All lanes of a warp, or those of this mask.
    Warp(Option<&'a Operand>),
    Warpgroup,
    Cta,
    /// As many threads of the CTA as are counted, at the barrier of this number.
    Counted {
        id: &'a Operand,
        count: &'a Operand,
        arrives: bool,
    },
    Cluster,
}

impl Set<'_> {
    pub fn name(&self) -> &'static str {
        match self {
            Set::Warp(_) => "warp",
            Set::Warpgroup => "warpgroup",
            Set::Cta => "CTA",
            Set::Counted { .. } => "group",
            Set::Cluster => "cluster",
        }
    }
}

/// The set that executes an instruction together; `None` if each thread may execute it alone.
pub(super) fn set(instruction: &Instruction) -> Option<Set<'_>> {
    let first = instruction.modifiers().next().unwrap_or("");
    let aligned = instruction.has("sync") && instruction.has("aligned");
    match (instruction.opcode(), first) {
        ("bar", "warp") => Some(Set::Warp(instruction.operands.last())),
        ("barrier", "cluster") => {
            let meets = instruction.has("arrive") || instruction.has("wait");
            (meets && instruction.has("aligned")).then_some(Set::Cluster)
        }
        ("barrier", _) if !instruction.has("aligned") => None,
        ("bar" | "barrier", _) => Some(barrier(instruction)),
        ("shfl" | "vote" | "match" | "redux" | "elect", _) if instruction.has("sync") => {
            Some(Set::Warp(instruction.operands.last()))
        }
        ("wgmma" | "setmaxnreg", _) => Some(Set::Warpgroup),
        ("baton", "roles") => Some(Set::Cta),
        ("baton", "agree") => match instruction.modifiers().nth(1) {
            Some("warp") => Some(Set::Warp(None)),
            Some("group") => Some(Set::Warpgroup),
            _ => Some(Set::Cta),
        },
        ("baton", _) => None,
        ("mma" | "wmma" | "ldmatrix" | "stmatrix" | "movmatrix", _) => Some(Set::Warp(None)),
        _ => aligned.then_some(Set::Warp(None)),
    }
}

/// `bar.sync a{, b}`, `bar.arrive a, b`, `bar.red d, a{, b}, c`.
fn barrier(instruction: &Instruction) -> Set<'_> {
    let operands = &instruction.operands[..];
    let (id, count) = match (instruction.has("red"), operands) {
        (true, [_, id, count, _]) => (id, count),
        (false, [id, count]) => (id, count),
        _ => return Set::Cta,
    };
    Set::Counted { id, count, arrives: instruction.has("arrive") }
}

/// The operands that have to be one value in all threads of the set; the instruction is undefined otherwise.
///
/// - What a leader uses for its set (`baton.agree`).
/// - The address and the number of columns of what a warp does with tensor memory (PTX ISA 9.7.16.7.1, 9.7.16.8).
/// - The descriptors and the predicate of a `wgmma` (9.7.15.5.2), whose registers hold parts of a matrix.
pub(super) fn one_for_all(instruction: &Instruction) -> impl Iterator<Item = &Operand> {
    let first = instruction.modifiers().next().unwrap_or("");
    let of = move |operand: &&Operand| match (instruction.opcode(), first) {
        ("baton", "agree") => true,
        ("tcgen05", "ld" | "st") => matches!(operand, Operand::Address(_)),
        ("tcgen05", "alloc" | "dealloc") => true,
        ("wgmma", "mma_async") => !matches!(operand, Operand::Vector(_)),
        _ => false,
    };
    instruction.operands.iter().filter(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_ptx::Module;

    fn name(text: &str) -> Option<String> {
        let text = format!(".func f() {{ .reg .pred p; .reg .b32 r; .reg .b64 d; {text}; }}");
        let module = Module::parse(&text, "t").unwrap();
        let body = module.functions[0].body.as_ref().unwrap();
        set(&body.instructions[0]).map(|set| set.name().to_owned())
    }

    #[test]
    fn each_instruction_has_its_set() {
        for (text, expected) in [
            ("bar.warp.sync -1", Some("warp")),
            ("shfl.sync.idx.b32 r, r, 0, 31, -1", Some("warp")),
            ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {r}, {r}, {r}, {r}", Some("warp")),
            ("tcgen05.wait::ld.sync.aligned", Some("warp")),
            ("tcgen05.mma.cta_group::1.kind::f16 [r], d, d, r, p", None),
            ("wgmma.fence.sync.aligned", Some("warpgroup")),
            ("setmaxnreg.inc.sync.aligned.u32 232", Some("warpgroup")),
            ("bar.sync 0", Some("CTA")),
            ("barrier.cta.sync.aligned 0", Some("CTA")),
            ("barrier.sync 0", None),
            ("bar.sync 1, 64", Some("group")),
            ("bar.red.or.pred p, 0, p", Some("CTA")),
            ("bar.red.or.pred p, 1, 64, p", Some("group")),
            ("barrier.cluster.arrive.release.aligned", Some("cluster")),
            ("barrier.cluster.wait.acquire", None),
            ("mbarrier.arrive.shared.b64 d, [r]", None),
            ("add.u32 r, r, r", None),
        ] {
            assert_eq!(name(text).as_deref(), expected, "{text}");
        }
    }
}
