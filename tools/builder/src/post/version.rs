//! The version of the PTX language that a module needs.
//!
//! The compiler writes the lowest version that knows the target, but it does not look into inline
//! assembly. Drivers take only what they know, so the version is raised no further than needed.
//! Each row below was found by giving the instruction to ptxas under every version. Instructions
//! that the compiler generates by itself, and all that a target's first version has, need no row.

use baton_ptx::{Instruction, Module};

use super::Edit;

/// A form of instruction, and the first version that has it.
struct Form {
    /// The mnemonic begins with this, up to a dot or its end; empty for any.
    opcode: &'static str,
    /// And has all these modifiers.
    modifiers: &'static [&'static str],
    version: (u32, u32),
}

const fn form(
    opcode: &'static str,
    modifiers: &'static [&'static str],
    version: (u32, u32),
) -> Form {
    Form { opcode, modifiers, version }
}

const FORMS: &[Form] = &[
    form("mbarrier.test_wait", &["parity"], (7, 1)),
    form("", &["L1::no_allocate"], (7, 4)),
    form("", &["L2::cache_hint"], (7, 4)),
    form("", &["L2::128B"], (7, 4)),
    form("", &["L2::256B"], (7, 4)),
    form("", &["L2::evict_last"], (7, 4)),
    form("", &["L2::evict_first"], (7, 4)),
    form("applypriority", &[], (7, 4)),
    form("discard", &[], (7, 4)),
    form("", &["shared::cta"], (7, 8)),
    form("barrier.cta", &[], (7, 8)),
    form("movmatrix", &[], (7, 8)),
    form("fence.proxy.alias", &[], (7, 8)),
    form("mbarrier", &["acquire"], (8, 0)),
    form("mbarrier", &["release"], (8, 0)),
    form("mbarrier", &["shared::cluster"], (8, 0)),
    form("mbarrier", &["expect_tx"], (8, 0)),
    form("mbarrier", &["complete_tx"], (8, 0)),
    form("barrier.cluster", &["relaxed"], (8, 0)),
    form("barrier.cluster", &["release"], (8, 0)),
    form("barrier.cluster", &["acquire"], (8, 0)),
    form("elect.sync", &[], (8, 0)),
    form("setmaxnreg", &[], (8, 0)),
    form("cp.async.bulk", &[], (8, 0)),
    form("cp.reduce.async.bulk", &[], (8, 0)),
    form("fence.proxy.async", &[], (8, 0)),
    form("fence.mbarrier_init", &[], (8, 0)),
    form("st.async", &[], (8, 1)),
    form("red.async", &[], (8, 1)),
    form("multimem", &[], (8, 1)),
    form("atom", &["v2"], (8, 1)),
    form("atom", &["v4"], (8, 1)),
    form("red", &["v2"], (8, 1)),
    form("red", &["v4"], (8, 1)),
    form("cvt", &["e4m3x2"], (8, 1)),
    form("cvt", &["e5m2x2"], (8, 1)),
    form("tensormap", &[], (8, 3)),
    form("fence.proxy.tensormap::generic", &[], (8, 3)),
    form("ld", &["mmio"], (8, 2)),
    form("st", &["mmio"], (8, 2)),
    form("ld", &["b128"], (8, 3)),
    form("st", &["b128"], (8, 3)),
    form("mov", &["b128"], (8, 3)),
    form("atom", &["b128"], (8, 3)),
    form("", &["b128", "sys"], (8, 4)),
    form("wgmma.mma_async", &["s8", "u8"], (8, 4)),
    form("fence.acquire", &[], (8, 6)),
    form("fence.release", &[], (8, 6)),
    form("fence.proxy.async::generic", &[], (8, 6)),
    form("mbarrier.arrive", &["relaxed"], (8, 6)),
    form("mbarrier.arrive_drop", &["relaxed"], (8, 6)),
    form("mbarrier.test_wait", &["relaxed"], (8, 6)),
    form("mbarrier.try_wait", &["relaxed"], (8, 6)),
    form("cp.async.bulk.shared::cta", &["global"], (8, 6)),
    form("cp.async.bulk.tensor", &["shared::cta", "mbarrier::complete_tx::bytes"], (8, 6)),
    form("cp.async.bulk.tensor", &["cta_group::1"], (8, 6)),
    form("cp.async.bulk.tensor", &["cta_group::2"], (8, 6)),
    form("clusterlaunchcontrol", &[], (8, 6)),
    form("tcgen05", &[], (8, 6)),
    form("st.bulk", &[], (8, 6)),
    form("add", &["f32x2"], (8, 6)),
    form("mul", &["f32x2"], (8, 6)),
    form("fma", &["f32x2"], (8, 6)),
    form("redux.sync", &["f32"], (8, 6)),
    form("st.async", &["global"], (8, 7)),
    form("red.async", &["global"], (8, 7)),
    form("tcgen05.mma", &["kind::mxf4nvf4"], (8, 7)),
    form("ld", &["v8"], (8, 8)),
    form("st", &["v8"], (8, 8)),
    form("tcgen05.mma", &["block16"], (8, 8)),
    form("tcgen05.mma", &["block32"], (8, 8)),
    form("tcgen05.ld.red", &[], (8, 8)),
    form("fence.proxy.generic::fabric", &[], (9, 3)),
    form("fence.proxy.fabric::generic", &[], (9, 3)),
    form("fence.proxy.fabric::fabric", &[], (9, 3)),
    form("fence.proxy.async::generic", &["sync_restrict::shared::cluster::read"], (9, 4)),
    form("fence.proxy.alias.acquire", &[], (9, 4)),
    form("fence.proxy.alias.release", &[], (9, 4)),
    form("tcgen05.alloc", &["exclusive"], (9, 4)),
];

impl Form {
    fn is(&self, instruction: &Instruction) -> bool {
        let rest = instruction.mnemonic.strip_prefix(self.opcode);
        let named = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        (self.opcode.is_empty() || named)
            && self.modifiers.iter().all(|modifier| instruction.has(modifier))
    }
}

/// Raises `.version` to what the instructions need.
pub(super) fn raise(module: &Module, edit: &mut Edit<'_>) {
    let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
    let instructions = bodies.flat_map(|body| &body.instructions);
    let needed = instructions
        .flat_map(|instruction| FORMS.iter().filter(|form| form.is(instruction)))
        .map(|form| form.version)
        .max();
    let Some((major, minor)) = needed.filter(|&needed| needed > module.version) else { return };
    let directive = (1..=edit.lines.len() as u32)
        .find(|&line| edit.line(line).trim_start().starts_with(".version"));
    if let Some(line) = directive {
        edit.replace(line, format!(".version {major}.{minor}"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::process;

    fn version(declared: &str, instruction: &str) -> String {
        let raw = format!(
            ".version {declared}\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n\
             .reg .b32 r<4>;\n.reg .b64 d<4>;\n.reg .pred p;\n{instruction}\nret;\n}}\n"
        );
        let text = process(&raw, "k", &[]).unwrap().text;
        text.lines().next().unwrap().to_owned()
    }

    #[test]
    fn raised_where_needed_and_only_there() {
        for (declared, instruction, expected) in [
            ("8.0", "fence.acq_rel.cluster;", "8.0"),
            ("8.0", "fence.acquire.cluster;", "8.6"),
            ("8.0", "fence.proxy.async.shared::cta;", "8.0"),
            ("8.0", "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p,[r0],r1;", "8.0"),
            ("8.0", "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p,[r0],r1;", "8.6"),
            ("8.0", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [r0],16;", "8.0"),
            ("8.0", "cp.async.bulk.global.shared::cta.bulk_group [d0],[r0],16;", "8.0"),
            (
                "8.0",
                "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [r0],[d0],16,[r1];",
                "8.6",
            ),
            ("8.8", "fence.acquire.cluster;", "8.8"),
            (
                "8.0",
                "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.s8 {r0,r1,r2,r3},d0,d1,p;",
                "8.4",
            ),
            (
                "8.0",
                "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8 {r0,r1,r2,r3},d0,d1,p;",
                "8.0",
            ),
            ("7.0", "ld.shared.b32 r1,[r0];", "7.0"),
            ("7.0", "ld.shared::cta.b32 r1,[r0];", "7.8"),
            ("7.8", "mbarrier.try_wait.parity.shared::cta.b64 p,[r0],r1;", "7.8"),
            ("7.8", "mbarrier.arrive.expect_tx.shared::cta.b64 _,[r0],16;", "8.0"),
            ("7.8", "barrier.cluster.arrive.aligned;", "7.8"),
            ("7.8", "barrier.cluster.wait.acquire.aligned;", "8.0"),
            (
                "8.0",
                "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [r0],r1,[r2];",
                "8.1",
            ),
        ] {
            assert_eq!(
                version(declared, instruction),
                format!(".version {expected}"),
                "{instruction}"
            );
        }
    }
}
