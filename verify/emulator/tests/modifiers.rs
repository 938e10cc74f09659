//! Every modifier is read: an instruction with one that nobody knows, or without one that it needs, is refused by name.
//! So is one with an operand too few or too many.

use baton_emulator::Program;

/// What is said of an instruction, if it is refused.
fn refusal(instruction: &str) -> Option<String> {
    let text = format!(
        ".version 9.5\n.target sm_100a\n.address_size 64\n.shared .align 16 .b8 s[64]; .global .align 16 .b8 g[64];\n\
         .visible .entry k(.param .u64 p)\n{{\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<9>;\n\
         .reg .b64 %d<9>;\n.reg .f32 %f<9>; .reg .u32 %u<9>; .reg .f64 %e<9>;\n{instruction};\nret;\n}}\n"
    );
    let program = Program::load(&text, "k", None).unwrap_or_else(|e| panic!("{instruction}: {e}"));
    let unknown: Vec<_> = program.unknown().collect();
    match unknown[..] {
        [] => None,
        [(line, why)] => {
            assert_eq!(line, 12, "{instruction}");
            assert!(why.starts_with(instruction), "{instruction}: {why}");
            Some(why.to_owned())
        }
        _ => panic!("{instruction}: {unknown:?}"),
    }
}

#[test]
fn what_nobody_knows_is_refused_by_name() {
    let cases = [
        ("add.zzz.u32 %r3, %r3, 1", "`.zzz`"),
        ("add.sat.u32 %r3, %r3, 1", "it needs one of sm_107a, "),
        ("add.rn.u32 %r3, %r3, 1", "`.rn`"),
        ("ld.aquire.gpu.global.u32 %r3, [%d2]", "`.aquire` is no modifier of `ld`"),
        ("ld.acquire.gqu.global.u32 %r3, [%d2]", "`.gqu` is no modifier of `ld`"),
        ("ld.acquire.global.u32 %r3, [%d2]", "`.cta`, `.cluster`, `.gpu` or `.sys` is missing"),
        ("ld.relaxed.global.u32 %r3, [%d2]", "`.cta`, `.cluster`, `.gpu` or `.sys` is missing"),
        ("ld.volatile.gpu.global.u32 %r3, [%d2]", "`.gpu` does not go with the other modifiers"),
        ("ld.weak.volatile.global.u32 %r3, [%d2]", "`.volatile`"),
        ("ld.relaxed.release.gpu.global.u32 %r3, [%d2]", "`.release`"),
        ("ld.relaxed.gpu.sys.global.u32 %r3, [%d2]", "`.sys`"),
        ("ld.release.gpu.global.u32 %r3, [%d2]", "`.release`"),
        ("ld.mmio.relaxed.gpu.global.u32 %r3, [%d2]", "`.mmio`"),
        ("ld.global.v3.u32 {%r3, %r4, %r5}, [%d2]", "`.v3` is no modifier of `ld`"),
        ("ld.global.v4.u32 {%r3, %r4}, [%d2]", "2 registers"),
        ("ld.foo.global.u32 %r3, [%d2]", "`.foo`"),
        ("st.release.gqu.global.u32 [%d2], %r3", "`.gqu` is no modifier of `st`"),
        ("st.release.global.u32 [%d2], %r3", "`.cta`, `.cluster`, `.gpu` or `.sys` is missing"),
        ("st.relase.gpu.global.u32 [%d2], %r3", "`.relase` is no modifier of `st`"),
        ("st.acquire.gpu.global.u32 [%d2], %r3", "`.acquire`"),
        ("st.shared::clusterr.u32 [%r1], %r3", "`.shared::clusterr`"),
        ("atom.global.add.foo.u32 %r3, [%d2], 1", "`.foo`"),
        ("atom.global.add.u32.foo %r3, [%d2], 1", "`.foo`"),
        ("atom.acqrel.gpu.global.add.u32 %r3, [%d2], 1", "`.acqrel`"),
        ("red.acq_rel.gpu.global.add.u32 [%d2], 1", "`.acq_rel`"),
        ("red.volatile.global.add.u32 [%d2], 1", "`.volatile`"),
        ("fence", "`.cta`, `.cluster`, `.gpu` or `.sys` is missing"),
        ("fence.foo", "`.foo` is no modifier of `fence`"),
        ("fence.acq_rel", "`.cta`, `.cluster`, `.gpu` or `.sys` is missing"),
        ("fence.acq_rel.foo", "`.foo` is no modifier of `fence`"),
        ("fence.acqrel.gpu", "`.acqrel`"),
        ("fence.acq_rel.acquire.gpu", "`.acquire`"),
        ("fence.acq_rel.gl", "`.gl` is no modifier of `fence`"),
        (
            "fence.mbarrier_init.release.gpu",
            "`.mbarrier_init` does not go with the other modifiers",
        ),
        (
            "fence.acquire.sync_restrict::shared::cta.cluster",
            "`.sync_restrict::shared::cta` does not go with the other modifiers",
        ),
        (
            "fence.release.sync_restrict::shared::cta.gpu",
            "`.sync_restrict::shared::cta` does not go with the other modifiers",
        ),
        ("fence.proxy.asynk", "`.asynk` is no modifier of `fence`"),
        (
            "fence.proxy.async::generic.release.sync_restrict::shared::cta.cta",
            "`.cluster` is missing",
        ),
        (
            "fence.proxy.async::generic.acquire.sync_restrict::shared::cta.cluster",
            "`.sync_restrict::shared::cluster` is missing",
        ),
        ("fence.proxy.async::generic.release.sync_restrict::shared::cluster.cluster", "is missing"),
        ("fence.proxy.async::generic.release.cluster", "is missing"),
        ("fence.proxy.async.shared", "`.shared`"),
        ("fence.proxy.tensormap::generic.gpu", "`.release` is missing"),
        ("membar", "`.cta`, `.gl` or `.sys` is missing"),
        ("membar.xx", "`.xx` is no modifier of `membar`"),
        ("membar.gpu", "`.gpu` is no modifier of `membar`"),
        ("bar.sync.foo 0", "`.foo`"),
        ("bar.syncc 0", "`.syncc` is no modifier of `bar`"),
        ("barrier.cluster.arrive.foo", "`.foo`"),
        ("barrier.cluster.arrive.acquire", "`.acquire`"),
        ("barrier.cluster.wait.release", "`.release`"),
        (
            "mbarrier.arrive.relaxxed.cta.shared.b64 _, [%r2]",
            "`.relaxxed` is no modifier of `mbarrier`",
        ),
        ("mbarrier.arrive.release.shared.b64 _, [%r2]", "`.cta` or `.cluster` is missing"),
        (
            "mbarrier.try_wait.parity.aquire.cta.shared.b64 %p1, [%r2], 1",
            "`.aquire` is no modifier of `mbarrier`",
        ),
        (
            "mbarrier.try_wait.parity.release.cta.shared.b64 %p1, [%r2], 1",
            "`.acquire` or `.relaxed` is missing",
        ),
        ("cp.async.bulk.commit_grp", "`.commit_grp` is no modifier of `cp`"),
        ("cp.async.wait_al", "`.wait_al` is no modifier of `cp`"),
        ("cp.async.ca.shared.global [%r1], [%d2], 5", "5 where 4 belong"),
        ("cp.async.cg.shared.global [%r1], [%d2], 8", "8 where 16 belong"),
        ("setp.xx.u32 %p1, %r1, %r2", "`.xx` is no modifier of `setp`"),
        ("mul.u32 %r3, %r3, 2", "`.lo`"),
        ("mad.u32 %r3, %r1, %r2, %r3", "`.lo`"),
        ("shf.l.b32 %r3, %r1, %r2, %r3", "`.clamp`"),
        ("add.u32.foo %r3, %r3, 1", "`.foo`"),
        ("prmt.b32.xx %r3, %r1, %r2, %r3", "`.xx`"),
        ("prefetch.global.L9 [%d2]", "`.L9`"),
        ("setmaxnreg.up.sync.aligned.u32 24", "`.up`"),
        ("shfl.sync.idx.foo.b32 %r3, %r3, 0, 31, -1", "`.foo`"),
        ("vote.sync.any.foo.pred %p1, %p1, -1", "`.foo`"),
        ("cvt.rn.foo.f32.u32 %f1, %r1", "`.foo`"),
        ("fma.rn.foo.f32 %f1, %f1, %f1, %f1", "`.foo`"),
        ("tcgen05.wait::ld.sync.aligned.foo", "`.foo`"),
        ("tcgen05.fence::after_thread_syncs", "tcgen05"),
        // Words that stand in their place.
        ("div.f32.full %f1, %f2, %f3", "is missing"),
        (
            "clusterlaunchcontrol.try_cancel.mbarrier::complete_tx::bytes.async.b128 [%r1], [%r2]",
            "`.async`",
        ),
        // Vectors are of one kind; mbarriers lie in shared memory; positions of bits are numbers of 8 bits.
        ("ld.global.v2.f32 {%f1, %u1}, [%d2]", "elements of different types"),
        ("st.global.v2.f32 [%d2], {%f1, 5}", "elements of different types"),
        ("mov.b64 %d2, {%u1, %f1}", "elements of different types"),
        ("mbarrier.expect_tx.relaxed.cta.b64 [g], 18", "not in shared memory"),
        ("mbarrier.test_wait.b64 %p1, [g], %d2", "not in shared memory"),
        ("cp.async.mbarrier.arrive.shared::cta.b64 [g]", "another state space"),
        ("mapa.u64 %d1, g, %r2", "not in shared memory"),
        ("getctarank.u64 %r1, g+4", "not in shared memory"),
        ("bfi.b64 %d1, %d2, 21, -1, %r4", "-1 where 0 to 255 belong"),
        ("bfe.u32 %r1, %r2, %r3, 300", "300 where 0 to 255 belong"),
        ("mad.wide.u32 %e1, 14, %r3, %d3", "another type"),
        ("mul.wide.u16 %f1, 14, %h3", "another type"),
        ("set.equ.xor.bf16.bf16 %h1, %h2, %h2, 0", "a register belongs"),
        ("cp.async.bulk.prefetch.L2.global [s], 16", "another state space"),
        ("mapa.u32 %r1, %r2, %r3", "generic addresses of 32 bits are not executed"),
        ("fence.proxy.alias.generic::fabric.acquire.sys", "the fabric proxy is not executed"),
        ("st.async.sys.u16 [%d2], %h1", "not executed but as `.mmio`"),
        ("cvt.u64.u64 %d1, %tid.x", "has 32 bits where 64 bits belong"),
        ("wgmma.fence.sync.aligned.foo", "`.foo`"),
    ];
    for (instruction, why) in cases {
        let said = refusal(instruction);
        let said = said.unwrap_or_else(|| panic!("`{instruction}` is taken"));
        assert!(said.contains(why), "{said}: not {why}");
    }
}

#[test]
fn what_stands_in_the_text_is_taken() {
    let cases = [
        "add.sat.s32 %r3, %r3, 1",
        // Words in another order, literals, and what stands instead of a register.
        "lop3.b32.or %r1|%p1, %r2, %r3, %r4, 13, !%p2",
        "lop3.and.b32 _|%p1, %r2, %r3, %r4, 13, 1",
        "mbarrier.arrive_drop.b64.shared::cta.noComplete %d3, [%r8], %r4",
        "cp.async.bulk.prefetch.global.L2 [%d2], %r2",
        "div.ftz.approx.f32 %f1, %f2, %f3",
        "div.full.ftz.f32 %f1, %f2, %f3",
        "setp.equ.xor.f16x2 %p3, %r4, %r2, 1",
        "setp.equ.xor.f16 %p3, %h4, %h2, 0",
        "cvt.u16.u32 %h1, %tid.x",
        "cvt.sat.u8.s16 %h1, %tid.x",
        "cvt.u64.u32 %d1, %clock64",
        "mapa.shared::cluster.u32 %r1, s+4, %r3",
        "ld.L2::evict_normal.v4.cv.u64 {%d1, %d2, %d3, %d4}, [%d8]",
        "st.cs.L2::evict_first.global.v8.b32 [%d8], {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}",
        "st.mmio.release.sys.s32 [%d8], {%r1}",
        "tcgen05.st.sync.aligned.16x256b.x1.unpack::16b.b32 [%r8], {%r1, 300, %r3, %r4}",
        "ld.global.v2.f32 {%u1, %r1}, [%d2]",
        "mov.b64 %d1, {%u1, %r2}",
        "ld.acquire.gpu.global.u32 %r3, [%d2]",
        "ld.relaxed.cluster.shared::cluster.v2.b32 {%r3, %r4}, [%r1]",
        "ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r3, %r4, %r5, %r6}, [%d2]",
        "ld.volatile.global.u32 %r3, [%d2]",
        "ld.mmio.relaxed.sys.global.u32 %r3, [%d2]",
        "ld.global.gpu.relaxed.u32 %r3, [%d2]",
        "st.release.sys.global.u32 [%d2], %r3",
        "atom.global.add.u32 %r3, [%d2], 1",
        "atom.acquire.global.add.u32 %r3, [%d2], 1",
        "atom.gpu.global.add.u32 %r3, [%d2], 1",
        "atom.acq_rel.gpu.global.cas.b32 %r3, [%d2], 1, 2",
        "red.release.gpu.global.add.noftz.f16x2 [%d2], %r3",
        "fence.sc.gpu",
        "fence.acquire.gpu",
        "fence.mbarrier_init.release.cluster",
        "fence.release.sync_restrict::shared::cta.cluster",
        "fence.acquire.sync_restrict::shared::cluster.cluster",
        "fence.proxy.alias",
        "fence.proxy.async.shared::cta",
        "fence.proxy.tensormap::generic.release.gpu",
        "membar.gl",
        "barrier.cluster.arrive.relaxed.aligned",
        "barrier.cluster.wait.acquire",
        "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%r2], 16",
        "mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 1",
        "mbarrier.init.layout::v0.shared::cta.b64 [%r2], 1",
        "cp.async.cg.shared.global.L2::128B [%r1], [%d2], 16",
        "mul.wide.u32 %d3, %r3, 2",
        "mad.lo.cc.u32 %r3, %r1, %r2, %r3",
        "div.full.ftz.f32 %f1, %f1, %f1",
        "shf.l.wrap.b32 %r3, %r1, %r2, %r3",
        "prmt.b32.f4e %r3, %r1, %r2, %r3",
        "prefetch.global.L2::evict_last [%d2]",
        "bar.warp.sync -1",
        "barrier.cta.red.popc.aligned.u32 %r3, 0, %p1",
        "tcgen05.wait::ld.sync.aligned",
    ];
    for instruction in cases {
        assert_eq!(refusal(instruction), None);
    }
}

#[test]
fn an_operand_too_few_or_too_many_is_refused() {
    // With all the operands that they can have, and how many of the last ones may be left out.
    let cases = [
        ("add.u32 %r3, %r1, %r2", 0),
        ("add.rn.f32 %f3, %f1, %f2", 0),
        ("add.rn.f16x2 %r3, %r1, %r2", 0),
        ("add.s16x2 %r3, %r1, %r2", 0),
        ("neg.s32 %r3, %r1", 0),
        ("neg.f16x2 %r3, %r1", 0),
        ("not.pred %p3, %p1", 0),
        ("and.pred %p3, %p1, %p2", 0),
        ("max.f32 %f3, %f1, %f2, %f4", 1),
        ("max.s32 %r3, %r1, %r2", 0),
        ("fma.rn.f32 %f3, %f1, %f2, %f4", 0),
        ("mad.lo.u32 %r3, %r1, %r2, %r4", 0),
        ("addc.u32 %r3, %r1, %r2", 0),
        ("madc.lo.u32 %r3, %r1, %r2, %r4", 0),
        ("shl.b32 %r3, %r1, %r2", 0),
        ("shf.l.wrap.b32 %r3, %r1, %r2, %r4", 0),
        ("prmt.b32 %r3, %r1, %r2, %r4", 0),
        ("bfe.u32 %r3, %r1, %r2, %r4", 0),
        ("bfi.b32 %r3, %r1, %r2, %r4, %r5", 0),
        ("lop3.b32 %r3, %r1, %r2, %r4, 5", 0),
        ("dp4a.u32.u32 %r3, %r1, %r2, %r4", 0),
        ("vabsdiff4.u32.u32.u32 %r3, %r1, %r2, %r4", 0),
        ("popc.b32 %r3, %r1", 0),
        ("sqrt.rn.f32 %f3, %f1", 0),
        ("testp.finite.f32 %p3, %f1", 0),
        ("setp.lt.u32 %p3, %r1, %r2", 0),
        ("setp.lt.and.u32 %p3, %r1, %r2, %p4", 0),
        ("selp.b32 %r3, %r1, %r2, %p1", 0),
        ("slct.b32.s32 %r3, %r1, %r2, %r4", 0),
        ("mov.u32 %r3, %r1", 0),
        ("cvt.u64.u32 %d3, %r1", 0),
        ("cvt.rn.f16x2.f32 %r3, %f1, %f2", 0),
        ("cvt.pack.sat.u8.s32.b32 %r3, %r1, %r2, %r4", 0),
        ("cvta.to.global.u64 %d3, %d1", 0),
        ("mapa.u64 %d3, %d1, %r1", 0),
        ("ld.global.u32 %r3, [%d1]", 0),
        ("ld.global.L2::cache_hint.u32 %r3, [%d1], %d2", 0),
        ("st.global.u32 [%d1], %r3", 0),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r3, [%r2]", 0),
        ("st.bulk.shared::cta [%r1], %d1, 0", 0),
        ("atom.global.add.u32 %r3, [%d1], %r1", 0),
        ("atom.global.cas.b32 %r3, [%d1], %r1, %r2", 0),
        ("red.global.add.u32 [%d1], %r1", 0),
        ("fence.acq_rel.gpu", 0),
        ("fence.proxy.tensormap::generic.acquire.gpu [%d1], 128", 0),
        ("membar.gl", 0),
        ("prefetch.global.L2 [%d1]", 0),
        ("discard.global.L2 [%d1], 128", 0),
        ("createpolicy.fractional.L2::evict_last.b64 %d3, 0f3F800000", 1),
        ("nanosleep.u32 %r1", 0),
        ("griddepcontrol.wait", 0),
        ("setmaxnreg.inc.sync.aligned.u32 24", 0),
        ("bar.sync 0, 32", 1),
        ("bar.arrive 0, 32", 0),
        ("bar.warp.sync %r1", 0),
        ("barrier.cluster.arrive.aligned", 0),
        ("shfl.sync.idx.b32 %r3, %r1, 0, 31, -1", 0),
        ("vote.sync.any.pred %p3, %p1, -1", 0),
        ("match.any.sync.b32 %r3, %r1, -1", 0),
        ("redux.sync.add.u32 %r3, %r1, -1", 0),
        ("elect.sync %r3|%p1, -1", 0),
        ("activemask.b32 %r3", 0),
        ("mbarrier.init.shared.b64 [%r1], 1", 0),
        ("mbarrier.arrive.shared.b64 %d3, [%r1], 1", 1),
        ("mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16", 0),
        ("mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 1, 100", 1),
        ("mbarrier.test_wait.shared.b64 %p1, [%r1], %d1", 0),
        ("mbarrier.pending_count.b64 %r3, %d1", 0),
        ("cp.async.ca.shared.global [%r1], [%d1], 4, %r2", 1),
        ("cp.async.commit_group", 0),
        ("cp.async.wait_group 1", 0),
        ("cp.async.wait_all", 0),
        ("cp.async.mbarrier.arrive.shared.b64 [%r1]", 0),
        (
            "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%d1], 16, [%r2]",
            0,
        ),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%d1], 16, \
             [%r2], %h1",
            0,
        ),
        ("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%d1], [%r1], 16, %d2", 0),
        ("cp.async.bulk.commit_group", 0),
        ("cp.async.bulk.wait_group.read 1", 0),
        (
            "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%d1, {%r2, %r3}], [%r4]",
            0,
        ),
        ("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%d1, {%r2}], [%r1]", 0),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r1]", 0),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r3}", 0),
        ("movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r1", 0),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3}, {%f1, %f2, %f3, \
             %f4}",
            0,
        ),
        ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32", 0),
        ("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned", 0),
        ("tcgen05.wait::ld.sync.aligned", 0),
        ("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1]", 0),
        ("tcgen05.shift.cta_group::1.down [%r1]", 0),
        ("tcgen05.cp.cta_group::1.128x256b [%r1], %d1", 0),
    ];
    for (whole, optional) in cases {
        assert_eq!(refusal(whole), None);
        let (opcode, operands) = whole.split_once(' ').unwrap_or((whole, ""));
        let list = split(operands);
        let with = |n: usize| {
            let more = list.iter().copied().chain(std::iter::repeat("%r8"));
            format!("{opcode} {}", more.take(n).collect::<Vec<_>>().join(", "))
        };
        for n in (0..list.len() + 3).filter(|n| !(list.len() - optional..=list.len()).contains(n)) {
            let text = with(n);
            let said = refusal(text.trim_end());
            let said = said.unwrap_or_else(|| panic!("`{text}` is taken"));
            // One that takes the place of another may have the wrong width as well.
            let words = ["operands", "operand belong", "bits belong", "predicate belong"];
            let operands = words.iter().any(|words| said.contains(words));
            assert!(operands, "{said}");
        }
    }
}

/// The operands, which commas part that stand in no bracket.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.extend((!text.is_empty()).then(|| text[from..].trim()));
    parts
}

/// A restricted fence is of a version of the language, and of targets from sm_90 on.
#[test]
fn restricted_fences_are_of_their_version() {
    let refusal = |version: &str, target: &str, fence: &str| {
        let text = format!(
            ".version {version}\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n{fence};\nret;\n}}\n"
        );
        let program = Program::load(&text, "k", None).unwrap_or_else(|e| panic!("{fence}: {e}"));
        program.unknown().next().map(|(line, why)| format!("{line}: {why}"))
    };
    let reads = "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster";
    let early = [
        "fence.acquire.sync_restrict::shared::cluster.cluster",
        "fence.release.sync_restrict::shared::cta.cluster",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
    ];
    for (fence, version, before) in
        early.into_iter().map(|fence| (fence, "8.6", "8.5")).chain([(reads, "9.4", "9.3")])
    {
        assert_eq!(refusal(version, "sm_90a", fence), None);
        let said = refusal(before, "sm_90a", fence).unwrap_or_else(|| panic!("{fence} is taken"));
        assert!(said.starts_with("6: ") && said.contains(&format!("PTX {version}")), "{said}");
        let said = refusal(version, "sm_80", fence).unwrap_or_else(|| panic!("{fence} is taken"));
        assert!(said.contains("sm_90"), "{said}");
    }
}
