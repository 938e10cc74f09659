//! Kernels as others write them, right and wrong: hand-overs between lanes, locks, the last block, copies, proxies, accesses that
//! cannot race. Of each, everything that is said is compared: the rule, how severe it is, and both instructions.

mod common;
use baton_emulator::Severity;
use baton_emulator::Severity::{Error, Warning};
use common::{Shape, module, run};
use std::collections::BTreeSet;

const SEEDS: u64 = 40;

/// A rule, how severe, and parts of the later and of the earlier instruction.
type Said = (&'static str, Severity, &'static str, &'static str);

/// Asks for exactly these reports, over some schedules.
#[track_caller]
fn judged(shape: (u32, u32, u32), body: &str, wanted: &[Said]) {
    let globals = ".shared .align 128 .b8 s[4096]; .shared .align 8 .b64 bar;";
    let head = "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %laneid;\n";
    // An instruction for each line.
    let body = body.replace("; ", ";\n");
    let text = module(globals, 2, &format!("{head}{body}\nret;"));
    let (grid, block, cluster) = shape;
    let mut found = BTreeSet::new();
    for seed in 0..SEEDS {
        let shape = Shape { grid, block, cluster, seed, ..Shape::default() };
        let report = run(&text, &shape, &[&[0; 4096], &[0; 4096]]).result;
        let report = report.unwrap_or_else(|e| panic!("{body}: {e}"));
        for hazard in report.hazards {
            let other = hazard.other.map_or(String::new(), |site| site.text);
            let severe = hazard.severity == Error;
            found.insert((hazard.rule, severe, hazard.site.text, other));
        }
    }
    let fits = |(rule, severity, here, earlier): &Said, said: &(&str, bool, String, String)| {
        *rule == said.0
            && (*severity == Error) == said.1
            && said.2.contains(here)
            && said.3.contains(earlier)
    };
    for want in wanted {
        assert!(found.iter().any(|said| fits(want, said)), "{body}\n{want:?} is not in {found:#?}");
    }
    for said in &found {
        assert!(wanted.iter().any(|want| fits(want, said)), "{body}\nalso said: {said:?}");
    }
}

/// A writer in block 0 and a reader in block 1.
fn passing(writer: &str, reader: &str) -> String {
    format!("setp.eq.u32 %p0, %r1, 0; @!%p0 bra R; {writer} ret; R: {reader}")
}

const PUBLISH: &str = "setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%a0+256], 42; @%p1 fence.acq_rel.gpu; \
                       @%p1 st.relaxed.gpu.global.u32 [%a0], 1;";
const TAKE: &str = "setp.eq.u32 %p2, %r0, 3; @!%p2 ret; L: ld.acquire.gpu.global.u32 %r5, [%a0]; \
                    setp.eq.u32 %p3, %r5, 0; @%p3 bra L; ld.global.u32 %r6, [%a0+256]; st.global.u32 [%a1], %r6;";

#[test]
fn lanes_that_poll_fence_and_read() {
    let poll = "setp.eq.u32 %p2, %r0, 3; @!%p2 bra J; L: ld.relaxed.gpu.global.u32 %r5, [%a0]; \
                setp.eq.u32 %p3, %r5, 0; @%p3 bra L;";
    // The third lane polls, the seventh fences; and the other way round.
    let reader = format!(
        "{poll} J: bar.warp.sync -1; setp.eq.u32 %p4, %r0, 7; @%p4 fence.acq_rel.gpu; bar.warp.sync -1; \
         @%p2 ld.global.u32 %r6, [%a0+256]; @%p2 st.global.u32 [%a1], %r6;"
    );
    let late = ("A3", Error, "ld.global.u32 %r6", "st.global.u32 [%a0+256], 42");
    judged((2, 32, 0), &passing(PUBLISH, &reader), &[late]);
    let reader = format!(
        "{poll} fence.acq_rel.gpu; J: bar.warp.sync -1; setp.eq.u32 %p4, %r0, 7; \
         @%p4 ld.global.u32 %r6, [%a0+256]; @%p4 st.global.u32 [%a1], %r6;"
    );
    judged((2, 32, 0), &passing(PUBLISH, &reader), &[]);
    // What a lane has seen goes to all by a shuffle, which orders nothing: the lane itself lacks a fence, the others all.
    let shuffle = |fence: &str| {
        format!(
            "L: setp.eq.u32 %p2, %r0, 0; mov.u32 %r5, 0; @%p2 ld.relaxed.gpu.global.u32 %r5, [%a0]; \
             shfl.sync.idx.b32 %r5, %r5, 0, 31, -1; setp.eq.u32 %p3, %r5, 0; @%p3 bra L; {fence} \
             mul.wide.u32 %d4, %r0, 4; add.u64 %d4, %a1, %d4; ld.global.u32 %r6, [%a0+256]; st.global.u32 [%d4], %r6;"
        )
    };
    let others = ("A1", Error, "ld.global.u32 %r6", "st.global.u32 [%a0+256], 42");
    judged((2, 32, 0), &passing(PUBLISH, &shuffle("")), &[late, others]);
    let fenced = shuffle("@%p2 fence.acq_rel.gpu; bar.warp.sync -1;");
    judged((2, 32, 0), &passing(PUBLISH, &fenced), &[]);
}

#[test]
fn lanes_that_store_fence_and_publish() {
    let writer = |flag: &str| {
        format!(
            "setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 1; @%p1 st.global.u32 [%a0+256], 42; bar.warp.sync -1; \
             @%p2 fence.acq_rel.gpu; bar.warp.sync -1; @{flag} st.relaxed.gpu.global.u32 [%a0], 1;"
        )
    };
    let unpublished = ("A4", Error, "ld.global.u32 %r6", "st.global.u32 [%a0+256], 42");
    judged((2, 32, 0), &passing(&writer("%p1"), TAKE), &[unpublished]);
    judged((2, 32, 0), &passing(&writer("%p2"), TAKE), &[]);
}

#[test]
fn locks() {
    let lock = |take: &str, give: &str, fence: &str| {
        format!(
            "setp.eq.u32 %p1, %r0, 0; @!%p1 ret; L: atom.{take}.gpu.global.cas.b32 %r3, [%a0], 0, 1; \
             setp.ne.u32 %p2, %r3, 0; @%p2 bra L; {fence} ld.global.u32 %r4, [%a0+256]; add.u32 %r4, %r4, 1; \
             st.global.u32 [%a0+256], %r4; {fence} atom.{give}.gpu.global.exch.b32 %r5, [%a0], 0;"
        )
    };
    let shape = (3, 32, 0);
    judged(shape, &lock("acquire", "release", ""), &[]);
    judged(shape, &lock("relaxed", "relaxed", "fence.acq_rel.gpu;"), &[]);
    // The later of two may store without having been reported at its load, and may read what it overwrites.
    let of = |rule| {
        [
            (rule, Error, "ld.global.u32 %r4", "st.global.u32 [%a0+256]"),
            (rule, Error, "st.global.u32 [%a0+256]", ""),
        ]
    };
    judged(shape, &lock("acquire", "relaxed", ""), &of("A4"));
    judged(shape, &lock("relaxed", "release", ""), &of("A3"));
    judged(shape, &lock("relaxed", "relaxed", "fence.acq_rel.cta;"), &of("A5"));
}

#[test]
fn the_last_block() {
    let last = |barrier: &str, order: &str| {
        format!(
            "setp.eq.u32 %p1, %r0, 0; mul.wide.u32 %d4, %r1, 256; add.u64 %d4, %d4, %a0; mul.wide.u32 %d5, %r0, 4; \
             add.u64 %d4, %d4, %d5; st.global.u32 [%d4+256], %r0; {barrier} @!%p1 bra J; \
             atom.{order}.gpu.global.add.u32 %r3, [%a0], 1; st.shared.u32 [s], %r3; J: bar.sync 0; \
             ld.shared.u32 %r4, [s]; setp.ne.u32 %p2, %r4, 2; @%p2 ret; mul.wide.u32 %d6, %r0, 4; \
             add.u64 %d7, %d6, %a0; ld.global.u32 %r5, [%d7+256]; ld.global.u32 %r6, [%d7+512]; \
             add.u32 %r5, %r5, %r6; add.u64 %d8, %d6, %a1; st.global.u32 [%d8], %r5;"
        )
    };
    let shape = (3, 64, 0);
    judged(shape, &last("bar.sync 0;", "acq_rel"), &[]);
    judged(
        shape,
        &last("bar.sync 0;", "relaxed"),
        &[("A4", Error, "ld.global.u32", "st.global.u32 [%d4+256]")],
    );
    // Other warps than that which counts have handed nothing over, whichever comes first.
    let unordered = [
        ("A1", Error, "ld.global.u32", "st.global.u32 [%d4+256]"),
        ("A9", Error, "st.global.u32 [%d4+256]", "ld.global.u32"),
    ];
    judged(shape, &last("", "acq_rel"), &unordered);
}

#[test]
fn arrivals_and_waits_of_a_cluster() {
    let handed = |arrival: &str, wait: &str| {
        format!(
            "setp.eq.u32 %p1, %r0, 0; mov.u32 %r20, bar; @%p1 mbarrier.init.shared.b64 [bar], 1; \
             @%p1 fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait; \
             mov.u32 %r10, %cluster_ctarank; setp.ne.u32 %p2, %r10, 0; @%p2 bra R; \
             mapa.shared::cluster.u32 %r11, %r20, 1; mov.u32 %r12, s; mapa.shared::cluster.u32 %r13, %r12, 1; \
             @%p1 st.shared::cluster.u32 [%r13], 7; @%p1 mbarrier.arrive.release.{arrival}.shared::cluster.b64 _, [%r11]; \
             bra E; R: @!%p1 bra E; L: mbarrier.try_wait.parity.acquire.{wait}.shared.b64 %p3, [bar], 0; @!%p3 bra L; \
             ld.shared.u32 %r5, [s]; st.global.u32 [%a1], %r5; E: barrier.cluster.arrive; barrier.cluster.wait;"
        )
    };
    let shape = (2, 32, 2);
    judged(shape, &handed("cluster", "cluster"), &[]);
    judged(shape, &handed("cluster", "cta"), &[("C7", Error, "mbarrier.try_wait", "")]);
    judged(shape, &handed("cta", "cluster"), &[("C7", Error, "", "")]);
}

#[test]
fn flags_that_are_volatile() {
    let flag = |fence: &str, read: &str| {
        format!(
            "setp.eq.u32 %p6, %r0, 0; @%p6 st.shared.v4.u32 [s], {{0, 0, 0, 0}}; bar.sync 0; setp.lt.u32 %p1, %r0, 32; \
             setp.ne.u32 %p5, %r2, 0; @%p5 ret; @!%p1 bra R; st.volatile.shared.u32 [s+8], 5; {fence} \
             st.volatile.shared.u32 [s+12], 1; ret; R: ld.volatile.shared.u32 %r3, [s+12]; setp.eq.u32 %p2, %r3, 0; \
             @%p2 bra R; {fence} {read} st.global.u32 [%a1], %r4;"
        )
    };
    let shape = (1, 64, 0);
    let once = "ld.volatile.shared.u32 %r4, [s+8];";
    judged(shape, &flag("", once), &[("stale-read", Warning, "%r4, [s+8]", "")]);
    judged(shape, &flag("fence.acq_rel.cta;", once), &[]);
    judged(shape, &flag("membar.cta;", once), &[]);
    let again = "S: ld.volatile.shared.u32 %r4, [s+8]; setp.eq.u32 %p3, %r4, 0; @%p3 bra S;";
    judged(shape, &flag("", again), &[]);
}

#[test]
fn vectors_of_which_one_element_is_equal() {
    let two = |second: &str| {
        format!(
            "shr.u32 %r3, %r0, 5; st.shared.v2.u32 [s], {{1, {second}}}; bar.sync 0; ld.shared.u32 %r4, [s]; \
             setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%a1], %r4;"
        )
    };
    let of = |severity| [("A13", severity, "st.shared.v2", "st.shared.v2")];
    judged((1, 64, 0), &two("%r3"), &of(Error));
    judged((1, 64, 0), &two("9"), &of(Warning));
    let flag = |value: &str| format!("setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%a1], {value};");
    judged((2, 32, 0), &flag("1"), &[("A9", Warning, "st.global", "st.global")]);
    judged((2, 32, 0), &flag("%r1"), &[("A9", Error, "st.global", "st.global")]);
}

#[test]
fn copies_by_each_thread() {
    let neighbour = |wait: &str| {
        format!(
            "shl.b32 %r3, %r0, 2; mov.u32 %r4, s; add.u32 %r4, %r4, %r3; cvt.u64.u32 %d4, %r3; add.u64 %d5, %a0, %d4; \
             add.u64 %d6, %a1, %d4; cp.async.ca.shared.global [%r4], [%d5], 4; cp.async.commit_group; {wait} \
             xor.b32 %r5, %r0, 1; shl.b32 %r5, %r5, 2; mov.u32 %r6, s; add.u32 %r6, %r6, %r5; ld.shared.u32 %r7, [%r6]; \
             st.global.u32 [%d6], %r7;"
        )
    };
    let shape = (1, 64, 0);
    let early = ("B8", Error, "ld.shared.u32 %r7", "cp.async.ca");
    judged(shape, &neighbour("cp.async.wait_group 0; bar.sync 0;"), &[]);
    judged(shape, &neighbour("cp.async.wait_all; bar.warp.sync -1;"), &[]);
    judged(shape, &neighbour("cp.async.wait_group 0;"), &[early]);
    judged(shape, &neighbour("bar.sync 0;"), &[early, ("B9", Warning, "cp.async.ca", "")]);
}

#[test]
fn a_tile_that_is_stored_in_bulk() {
    let stored = |fence: &str| {
        format!(
            "shl.b32 %r3, %r0, 2; mov.u32 %r4, s; add.u32 %r4, %r4, %r3; st.shared.u32 [%r4], %r0; {fence} \
             setp.eq.u32 %p1, %r0, 0; @!%p1 bra E; cp.async.bulk.global.shared::cta.bulk_group [%a1], [s], 128; \
             cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:"
        )
    };
    let shape = (1, 32, 0);
    let unfenced = ("B1", Error, "cp.async.bulk.global", "st.shared.u32 [%r4]");
    judged(shape, &stored("fence.proxy.async.shared::cta; bar.sync 0;"), &[]);
    judged(shape, &stored("bar.sync 0; fence.proxy.async.shared::cta;"), &[]);
    judged(shape, &stored("bar.sync 0;"), &[unfenced]);
    judged(shape, &stored("fence.proxy.async.global; bar.sync 0;"), &[unfenced]);
    let one = "setp.eq.u32 %p8, %r0, 0; @%p8 fence.proxy.async.shared::cta; bar.sync 0;";
    judged(shape, &stored(one), &[unfenced]);
    let race = ("A13", Error, "cp.async.bulk.global", "st.shared.u32 [%r4]");
    judged(shape, &stored("fence.proxy.async.shared::cta;"), &[race]);
}
