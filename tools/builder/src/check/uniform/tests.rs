//! One small kernel for each thing that the analysis knows, with what it says of it.

use super::super::Severity;
use super::*;

/// What is found in a kernel of 64 threads, in clusters of `ctas`.
fn findings(threads: u32, ctas: u32, functions: &str, body: &str) -> Vec<Finding> {
    let text = format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n.extern .shared .align 16 .b8 dynamic[];\n{functions}\n\
         .visible .entry k(.param .u64 a, .param .u32 n)\n.reqntid {threads}, 1, 1\n\
         .reqnctapercluster {ctas}, 1, 1\n{{\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .f32 %f<4>;\n\
         .reg .b64 %d<16>;\n.local .align 4 .b8 depot[64];\nld.param.u64 %d1, [a];\nld.param.u32 %r1, [n];\n\
         mov.u32 %r2, %tid.x;\nand.b32 %r3, %r2, 31;\nmul.wide.u32 %d2, %r2, 4;\nadd.u64 %d3, %d1, %d2;\n\
         {body}\nret;\n}}\n"
    );
    let module = Module::parse(&text, "k").unwrap_or_else(|error| panic!("{error}\n{text}"));
    check(&module, &LineTable::new())
}

/// Whether a value (in `%r4`) may be waited on by a branch around a collective.
fn refused(computed: &str, collective: &str) -> bool {
    let body = format!("{computed}\nsetp.eq.u32 %p1, %r4, 1;\n@%p1 bra B;\n{collective}\nB:");
    let found = findings(64, 1, "", &body);
    assert!(found.len() <= 1, "{found:?}");
    found.iter().any(|finding| finding.severity == Severity::Error)
}

const WARP: &str = "bar.warp.sync -1;";
const CTA: &str = "bar.sync 0;";

/// In which sets the value is one for all: none, those of a warp, or those of the CTA.
fn one_for(computed: &str) -> &'static str {
    match (refused(computed, WARP), refused(computed, CTA)) {
        (true, true) => "nobody",
        (false, true) => "warp",
        (false, false) => "CTA",
        (true, false) => panic!("one for the CTA, and not for its warps"),
    }
}

#[test]
fn where_values_come_from_says_for_whom_they_are_one() {
    for (computed, expected) in [
        ("mov.u32 %r4, %r1;", "CTA"),
        ("mov.u32 %r4, %r2;", "nobody"),
        ("shr.u32 %r4, %r2, 5;", "warp"),
        ("shr.u32 %r4, %r2, 6;", "CTA"),
        ("mov.u32 %r4, %ctaid.x;", "CTA"),
        ("mov.u32 %r4, %warpid;", "warp"),
        ("mov.u32 %r4, %clock;", "nobody"),
        ("add.u32 %r4, %r1, %r3;", "nobody"),
        ("mad.lo.s32 %r4, %r1, 64, %r2; shr.u32 %r4, %r4, 5;", "warp"),
        ("mad.lo.s32 %r4, %r1, 48, %r2; shr.u32 %r4, %r4, 5;", "nobody"),
        ("ld.global.u32 %r4, [%d1];", "CTA"),
        ("ld.global.u32 %r4, [%d3];", "nobody"),
        ("ld.relaxed.gpu.global.u32 %r4, [%d1];", "nobody"),
        ("ld.volatile.global.u32 %r4, [%d1];", "nobody"),
        ("mov.u32 %r5, dynamic; ld.shared.u32 %r4, [%r5];", "CTA"),
        ("atom.global.add.u32 %r4, [%d1], 1;", "nobody"),
        (
            "mov.u32 %r5, dynamic; mbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0; selp.u32 %r4, 1, 0, %p2;",
            "nobody",
        ),
        ("clz.b32 %r4, %r1;", "CTA"),
        ("cvt.rn.f32.u32 %f1, %r1; cvt.rzi.u32.f32 %r4, %f1;", "CTA"),
        ("mov.b64 {%r4, %r5}, %d1;", "CTA"),
        ("mov.b64 {%r4, %r5}, %d3;", "nobody"),
        ("add.cc.u32 %r5, %r2, -1; addc.u32 %r4, 0, 0;", "nobody"),
        ("add.cc.u32 %r5, %r1, -1; addc.u32 %r4, 0, 0;", "CTA"),
        ("selp.u32 %r4, %r1, 3, %p3;", "CTA"),
        ("setp.lt.u32 %p3, %r3, 4; selp.u32 %r4, 1, 3, %p3;", "nobody"),
        ("setp.lt.u32 %p3, %r2, 32; selp.u32 %r4, 1, 3, %p3;", "warp"),
        ("mov.u32 %r4, 1; setp.lt.u32 %p3, %r3, 4; @%p3 mov.u32 %r4, %r1;", "nobody"),
        ("mov.u32 %r4, 1; setp.lt.u32 %p3, %r1, 4; @%p3 mov.u32 %r4, %r1;", "CTA"),
    ] {
        assert_eq!(one_for(computed), expected, "{computed}");
    }
}

#[test]
fn what_a_warp_computes_together_is_one_for_it() {
    let own = "ld.global.u32 %r5, [%d3];";
    for (computed, expected) in [
        ("setp.gt.u32 %p2, %r5, 3; vote.sync.ballot.b32 %r4, %p2, -1;", "warp"),
        ("redux.sync.add.u32 %r4, %r5, -1;", "warp"),
        ("redux.sync.add.u32 %r4, %r1, -1;", "CTA"),
        ("redux.sync.add.u32 %r4, %r3, -1;", "CTA"),
        ("shfl.sync.idx.b32 %r4, %r5, 3, 31, -1;", "warp"),
        ("shfl.sync.idx.b32 %r4, %r5, %r1, 31, -1;", "warp"),
        ("shfl.sync.idx.b32 %r4, %r3, %r1, 31, -1;", "CTA"),
        ("shfl.sync.idx.b32 %r4, %r5, %r3, 31, -1;", "nobody"),
        ("shfl.sync.idx.b32 %r4, %r5, 0, 7199, -1;", "nobody"),
        ("shfl.sync.up.b32 %r4, %r5, 1, 0, -1;", "nobody"),
        ("shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;", "CTA"),
        ("match.any.sync.b32 %r4, %r5, -1;", "nobody"),
        ("match.any.sync.b32 %r4, %r1, -1;", "CTA"),
        ("elect.sync %r4|%p2, -1;", "warp"),
        ("elect.sync %r5|%p2, -1; selp.u32 %r4, 1, 0, %p2;", "nobody"),
        ("setp.gt.u32 %p2, %r5, 3; bar.red.popc.u32 %r4, 0, %p2;", "CTA"),
    ] {
        assert_eq!(one_for(&format!("{own}\n{computed}")), expected, "{computed}");
    }
}

#[test]
fn a_butterfly_ends_in_one_value() {
    let round =
        |by: u32| format!("shfl.sync.bfly.b32 %r6, %r4, {by}, 31, -1; add.u32 %r4, %r4, %r6;");
    let rounds: String = [16, 8, 4, 2, 1].map(round).concat();
    assert_eq!(one_for(&format!("ld.global.u32 %r4, [%d3];\n{rounds}")), "warp");
    let four: String = [16, 8, 4, 2].map(round).concat();
    assert_eq!(one_for(&format!("ld.global.u32 %r4, [%d3];\n{four}")), "nobody");
    let other = rounds.replace("add.u32 %r4, %r4, %r6", "sub.u32 %r4, %r4, %r6");
    assert_eq!(one_for(&format!("ld.global.u32 %r4, [%d3];\n{other}")), "nobody");
}

#[test]
fn the_stack_holds_what_was_stored() {
    let load = "add.u64 %d5, %d4, 8; ld.local.u32 %r4, [%d5];";
    let start = "mov.u64 %d4, depot;";
    for (stored, expected) in [
        ("st.local.u32 [%d4+8], %r1;", "CTA"),
        ("st.local.u32 [%d4+8], %r2;", "nobody"),
        // The value is one, and whether it is there is not.
        (
            "st.local.u32 [%d4+8], 0; setp.lt.u32 %p3, %r3, 4; @%p3 bra S; st.local.u32 [%d4+8], %r1; S:",
            "nobody",
        ),
        (
            "st.local.u32 [%d4+8], 0; setp.lt.u32 %p3, %r3, 4; @%p3 st.local.u32 [%d4+8], %r1;",
            "nobody",
        ),
        // Through a generic address.
        ("cvta.local.u64 %d6, %d4; st.u32 [%d6+8], %r2;", "nobody"),
        // Through an address that was in memory.
        ("st.global.u64 [%d1], %d4; ld.global.u64 %d6, [%d1]; st.u32 [%d6+8], %r2;", "nobody"),
    ] {
        assert_eq!(one_for(&format!("{start}\n{stored}\n{load}")), expected, "{stored}");
    }
    let pointed = format!(
        "{start} st.local.u32 [%d4+8], %r2; cvta.local.u64 %d6, %d4; st.global.u64 [%d1], %d6; \
         ld.global.u64 %d7, [%d1]; ld.u32 %r4, [%d7+8];"
    );
    assert_eq!(one_for(&pointed), "nobody");
}

#[test]
fn where_ways_meet_the_way_counts() {
    let meet = |condition: &str, first: &str, second: &str| {
        format!(
            "{condition}\n@%p3 bra S;\nmov.u32 %r4, {first};\nbra T;\nS:\nmov.u32 %r4, {second};\nT:"
        )
    };
    let (lane, warp, all) =
        ("setp.lt.u32 %p3, %r3, 4;", "setp.lt.u32 %p3, %r2, 32;", "setp.lt.u32 %p3, %r1, 4;");
    assert_eq!(one_for(&meet(lane, "5", "6")), "nobody");
    assert_eq!(one_for(&meet(lane, "5", "5")), "CTA");
    assert_eq!(one_for(&meet(warp, "5", "6")), "warp");
    assert_eq!(one_for(&meet(all, "5", "%r1")), "CTA");
    assert_eq!(one_for(&meet(all, "5", "%r2")), "nobody");
}

/// As the compiler writes a value that a loop takes along: once before a leader's branch, and once more behind what the leader does.
#[test]
fn copies_of_one_value_are_one_on_every_way() {
    let loops = |other: &str| {
        format!(
            "mov.u32 %r4, 0; setp.eq.u32 %p2, %r3, 0;\n\
             T: setp.ge.u32 %p1, %r4, %r1; @%p1 bra B;\nbar.sync 0;\nadd.u32 %r5, %r4, 1; add.u32 %r6, %r4, 2;\n\
             mov.u32 %r4, %r5;\n@!%p2 bra T;\nst.global.u32 [%d1], %r1;\nmov.u32 %r4, {other};\nbra T;\nB:"
        )
    };
    assert!(findings(64, 1, "", &loops("%r5")).is_empty());
    assert!(!findings(64, 1, "", &loops("%r6")).is_empty());
}

#[test]
fn what_both_arms_compute_in_the_same_way_is_one_value() {
    let arms = |one: &str, other: &str| {
        format!(
            "mov.u32 %r5, dynamic; setp.lt.u32 %p2, %r2, 8; @%p2 bra L; {one} bra.uni M; L: {other} M: add.u32 %r4, %r6, 4;"
        )
    };
    for (one, other, expected) in [
        ("add.u32 %r6, %r5, 16;", "add.u32 %r6, %r5, 16;", "CTA"),
        (
            "add.u32 %r7, %r5, 16; add.u32 %r6, %r7, 8;",
            "add.u32 %r7, %r5, 16; add.u32 %r6, %r7, 8;",
            "CTA",
        ),
        ("add.u32 %r6, %r5, 16;", "add.u32 %r6, %r5, 32;", "nobody"),
        ("add.u32 %r6, %r5, 16;", "add.u32 %r6, %r1, 16;", "nobody"),
        ("add.u32 %r6, %r3, %r1;", "add.u32 %r6, %r3, %r1;", "nobody"),
        ("mov.u32 %r6, %clock;", "mov.u32 %r6, %clock;", "nobody"),
        ("ld.volatile.global.u32 %r6, [%d1];", "ld.volatile.global.u32 %r6, [%d1];", "nobody"),
    ] {
        assert_eq!(one_for(&arms(one, other)), expected, "{one} {other}");
    }
}

#[test]
fn what_a_loop_leaves_depends_on_who_left_when() {
    let count = |bound: &str| {
        format!(
            "mov.u32 %r4, 0;\nL:\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, {bound};\n@%p3 bra L;"
        )
    };
    assert_eq!(one_for(&count("%r1")), "CTA");
    assert_eq!(one_for(&count("%r3")), "nobody");
    // What does not change in the loop does not differ behind it.
    let fixed = count("%r3").replace("%r4", "%r6") + "\nmov.u32 %r4, %r1;";
    assert_eq!(one_for(&fixed), "CTA");
}

#[test]
fn a_collective_in_a_loop_is_reached_as_often_as_the_loop_runs() {
    let looped = |bound: &str, inside: &str| {
        let body = format!(
            "mov.u32 %r4, 0;\nL:\n{inside}\n{WARP}\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, {bound};\n@%p3 bra L;"
        );
        findings(64, 1, "", &body).len()
    };
    assert_eq!(looped("%r1", ""), 0);
    assert_eq!(looped("%r3", ""), 1);
    assert_eq!(looped("%r1", "setp.eq.u32 %p4, %r4, %r3;\n@%p4 ret;"), 1);
    // Who traps does not go on, and nobody else does.
    assert_eq!(looped("%r1", "setp.eq.u32 %p4, %r4, %r3;\n@%p4 trap;"), 0);
}

#[test]
fn a_guard_is_a_branch() {
    assert_eq!(findings(64, 1, "", "setp.eq.u32 %p1, %r3, 0;\n@%p1 bar.sync 0;").len(), 1);
    assert_eq!(findings(64, 1, "", "setp.eq.u32 %p1, %r1, 0;\n@%p1 bar.sync 0;").len(), 0);
}

#[test]
fn a_jump_table_parts_whom_its_index_parts() {
    let body = |index: &str| {
        format!(
            "T: .branchtargets A, B, B;\nbrx.idx {index}, T;\nA:\n{CTA}\nbra C;\nB:\nmov.u32 %r9, 1;\nC:"
        )
    };
    assert_eq!(findings(64, 1, "", &body("%r1")).len(), 0);
    assert_eq!(findings(64, 1, "", &body("%r2")).len(), 1);
}

#[test]
fn each_set_is_judged_for_itself() {
    let below = |threads: u32, collective: &str| {
        let body = format!("setp.ge.u32 %p1, %r2, {threads};\n@%p1 bra B;\n{collective}\nB:");
        findings(256, 1, "", &body).len()
    };
    assert_eq!(below(16, "bar.warp.sync -1;"), 1);
    assert_eq!(below(32, "bar.warp.sync -1;"), 0);
    assert_eq!(below(32, "wgmma.fence.sync.aligned;"), 1);
    assert_eq!(below(128, "wgmma.fence.sync.aligned;"), 0);
    assert_eq!(below(128, "setmaxnreg.inc.sync.aligned.u32 232;"), 0);
    assert_eq!(below(32, "tcgen05.wait::ld.sync.aligned;"), 0);
    assert_eq!(below(8, "tcgen05.wait::ld.sync.aligned;"), 1);
    assert_eq!(below(128, "bar.sync 0;"), 1);
    assert_eq!(below(128, "bar.sync 1, 128;"), 0);
    assert_eq!(below(128, "barrier.sync 0;"), 0);
    // Threads of a set that cannot come at all are none of it.
    assert_eq!(below(16, "bar.warp.sync 0xffff;"), 0);
    assert_eq!(below(16, "shfl.sync.idx.b32 %r4, %r1, 0, 31, 0xffff;"), 0);
}

#[test]
fn a_barrier_for_which_too_few_come_is_refused() {
    let body = "setp.ge.u32 %p1, %r2, 32;\n@%p1 bra B;\nbar.sync 1, 64;\nB:";
    let found = findings(64, 1, "", body);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert!(finding.message.contains("waits for 64 threads, and at most 32"), "{finding}");
    // The others arrive elsewhere.
    let body = format!("{body}\n@!%p1 bra C;\nbar.arrive 1, 64;\nC:");
    assert_eq!(findings(64, 1, "", &body).len(), 0);
    // Or perhaps.
    let body = body.replace("bar.arrive 1", "bar.arrive %r1");
    assert_eq!(findings(64, 1, "", &body).len(), 0);
}

#[test]
fn a_member_mask_that_is_not_known_is_told_and_no_more() {
    let body = format!("setp.eq.u32 %p1, %r3, 0;\n@%p1 bra B;\n{}\nB:", "bar.warp.sync %r1;");
    let found = findings(64, 1, "", &body);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.message.contains("member mask"), "{finding}");
    assert_eq!(findings(64, 1, "", "bar.warp.sync %r1;").len(), 0);
}

#[test]
fn ctas_of_a_cluster_that_differ_are_told_where_they_may_meet_all_the_same() {
    let meet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;";
    let body = |value: &str| format!("setp.eq.u32 %p1, {value}, 0;\n@%p1 bra B;\n{meet}\nB:");
    let all = |severity, found: &[Finding]| {
        assert!(!found.is_empty() && found.iter().all(|f| f.severity == severity), "{found:?}");
    };
    // An arm for each.
    let arms = format!(
        "mov.u32 %r4, %cluster_ctarank;\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra A;\n{meet}\nbra.uni B;\nA:\n{meet}\nB:"
    );
    all(Severity::Warning, &findings(64, 2, "", &arms));
    // By what is in memory.
    all(
        Severity::Warning,
        &findings(
            64,
            2,
            "",
            &format!("mov.u32 %r5, dynamic; ld.shared.u32 %r4, [%r5];\n{}", body("%r4")),
        ),
    );
    // One of them alone.
    all(
        Severity::Error,
        &findings(64, 2, "", &format!("mov.u32 %r4, %cluster_ctarank;\n{}", body("%r4"))),
    );
    assert_eq!(findings(64, 2, "", &body("%r1")).len(), 0);
    let halved = format!("mov.u32 %r4, %ctaid.x;\nshr.u32 %r4, %r4, 1;\n{}", body("%r4"));
    assert_eq!(findings(64, 2, "", &halved).len(), 0);
    // Inside a CTA it is an error.
    assert!(findings(64, 2, "", &body("%r2")).iter().all(|f| f.severity == Severity::Error));
}

const MEETS: &str = ".func (.param .b32 r) meets(.param .b32 x)\n{\n.reg .pred %q;\n.reg .b32 %x<3>;\n\
    ld.param.b32 %x1, [x];\nsetp.eq.u32 %q, %x1, 0;\n@%q bra E;\nbar.sync 0;\nE:\nadd.u32 %x2, %x1, 1;\n\
    st.param.b32 [r], %x2;\nret;\n}\n";

fn call(argument: &str) -> String {
    format!(
        "{{\n.param .b32 x;\n.param .b32 r;\nst.param.b32 [x], {argument};\ncall.uni (r), meets, (x);\n\
         ld.param.b32 %r4, [r];\n}}\n"
    )
}

#[test]
fn functions_are_judged_where_they_are_called() {
    assert_eq!(findings(64, 1, MEETS, &call("%r1")).len(), 0);
    // By its argument.
    assert_eq!(findings(64, 1, MEETS, &call("%r2")).len(), 1);
    // By the branch around the call.
    let body = format!("setp.eq.u32 %p1, %r3, 0;\n@%p1 bra B;\n{}\nB:", call("%r1"));
    assert_eq!(findings(64, 1, MEETS, &body).len(), 1);
    // By its result.
    let plain = MEETS.replace("bar.sync 0;", "");
    let body =
        |argument| format!("{}setp.eq.u32 %p1, %r4, 5;\n@%p1 bra B;\n{CTA}\nB:", call(argument));
    assert_eq!(findings(64, 1, &plain, &body("%r1")).len(), 0);
    assert_eq!(findings(64, 1, &plain, &body("%r2")).len(), 1);
}

#[test]
fn what_a_call_that_is_not_followed_returns_is_not_trusted() {
    let again = MEETS.replace(
        "bar.sync 0;",
        "{\n.param .b32 y;\n.param .b32 s;\nst.param.b32 [y], %x1;\n\
        call.uni (s), meets, (y);\nld.param.b32 %x1, [s];\n}",
    );
    let body = format!("{}setp.eq.u32 %p1, %r4, 0;\n@%p1 bra B;\n{CTA}\nB:", call("%r1"));
    let found = findings(64, 1, &again, &body);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert!(finding.to_string().contains("a call that is not followed"), "{finding}");
}

#[test]
fn loops_with_several_entries_are_told() {
    let body = format!(
        "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra M;\nL:\nadd.u32 %r4, %r1, 1;\nM:\n{CTA}\nsetp.eq.u32 %p2, %r4, 9;\n@%p2 bra L;"
    );
    let found = findings(64, 1, "", &body);
    assert!(found.iter().any(|f| f.message.contains("entered at several places")), "{found:?}");
}

#[test]
fn a_loop_without_an_end_is_judged_too() {
    let body = "L:\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra M;\nbar.warp.sync -1;\nM:\nbra L;";
    assert_eq!(findings(64, 1, "", body).len(), 1);
    assert_eq!(findings(64, 1, "", &body.replace("%r3", "%r1")).len(), 0);
}

#[test]
fn a_finding_names_the_branch_and_the_origin() {
    let body = "ld.global.u32 %r4, [%d3];\nadd.u32 %r5, %r4, 1;\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra B;\nbar.sync 0;\nB:";
    let found = findings(64, 1, "", body);
    let [finding] = &found[..] else { panic!("{found:?}") };
    let at = finding.ptx_line.unwrap();
    let lines: Vec<u32> = finding.notes.iter().map(|note| note.ptx_line).collect();
    assert_eq!(lines, [at - 1, at - 4], "{finding}");
    assert!(finding.message.starts_with("rule F4"), "{finding}");
    assert!(finding.notes[1].message.contains("different addresses"), "{finding}");
}

#[test]
fn the_authors_word_counts() {
    let strong = "ld.relaxed.gpu.global.u32 %r5, [%d1];";
    for (mark, expected) in [("warp", "warp"), ("cta", "CTA"), ("group", "CTA")] {
        let marked = format!("{strong}\n//@baton same {mark}\nmov.b32 %r4, %r5;");
        assert_eq!(one_for(&marked), expected, "{mark}");
    }
    // What is known already is not forgotten.
    assert_eq!(one_for("//@baton same warp\nmov.b32 %r4, %r1;"), "CTA");
}

#[test]
fn what_a_leader_uses_for_its_set_is_one() {
    let led = |address: &str, barrier: &str| {
        let set = if barrier == CTA { "cta" } else { "warp" };
        let body = format!(
            "{address}\n//@baton agree {set} %d5\n//@baton collective bar\n{barrier}\nsetp.eq.u32 %p1, %r3, 0;\n@!%p1 bra B;\n\
             st.release.gpu.global.u32 [%d5], 1;\nB:"
        );
        findings(64, 1, "", &body)
    };
    assert_eq!(led("mov.u64 %d5, %d1;", CTA), []);
    let by_lane = "setp.lt.u32 %p2, %r3, 16;\nadd.u64 %d6, %d1, 64;\nselp.b64 %d5, %d1, %d6, %p2;";
    let found = led(by_lane, WARP);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert!(finding.message.contains("the leader of this warp acts for all of it"), "{finding}");
    assert!(finding.notes[0].message.contains("%tid.x"), "{finding}");
    // Each warp has its own, as a warp may.
    let by_warp = by_lane.replace("%r3, 16", "%r2, 32");
    assert_eq!(led(&by_warp, WARP), []);
    assert_eq!(led(&by_warp, CTA).len(), 1);
}

#[test]
fn a_cta_comes_to_its_roles_together() {
    let roles = |decided: &str| {
        let body = format!("{decided}\n@%p1 bra B;\n//@baton roles 11\nmov.u32 %r5, 1;\nB:");
        findings(64, 1, "", &body).len()
    };
    assert_eq!(roles("setp.lt.u32 %p1, %r1, 5;"), 0);
    assert_eq!(roles("setp.lt.u32 %p1, %r2, 32;"), 1);
}

#[test]
fn a_comment_behind_a_label_stands_behind_it() {
    // Those that jump come to the comment too.
    let body = "setp.lt.u32 %p1, %r2, 32;\n@%p1 bra B;\nmov.u32 %r5, 1;\nB:\n//@baton roles 11\nmov.u32 %r5, 2;";
    assert_eq!(findings(64, 1, "", body), []);
    let body = "setp.lt.u32 %p1, %r2, 32;\n@%p1 bra B;\nmov.u32 %r5, 1;\n//@baton roles 11\nB:\nmov.u32 %r5, 2;";
    assert_eq!(findings(64, 1, "", body).len(), 1);
}

#[test]
fn a_set_agrees_on_what_its_leader_uses() {
    let agree = |set: &str, computed: &str| {
        !findings(128, 1, "", &format!("{computed}\n//@baton agree {set} %r4\nmov.u32 %r5, 1;"))
            .is_empty()
    };
    for (computed, refused) in [
        ("mov.u32 %r4, %r1;", [false, false, false]),
        ("shr.u32 %r4, %r2, 5;", [false, true, true]),
        ("mov.u32 %r4, %r3;", [true, true, true]),
    ] {
        for (set, expected) in ["warp", "group", "cta"].into_iter().zip(refused) {
            assert_eq!(agree(set, computed), expected, "{set}: {computed}");
        }
    }
}

#[test]
fn an_instruction_of_a_whole_set_takes_one_address() {
    let said = |computed: &str, instruction: &str| {
        let found =
            findings(128, 1, "", &format!("{computed}\ncvt.u64.u32 %d5, %r4;\n{instruction}"));
        found
            .iter()
            .filter(|finding| finding.message.contains("one instruction of a whole"))
            .count()
    };
    let ld = "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r6, %r7}, [%r4+4];";
    let st = "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r4], {%r2, %r3};";
    let dealloc = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, %r4;";
    let product = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %d1, %d5, 1, 1, 1, 0, 0;";
    let in_registers = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, {%r2, %r2, %r3, %r3}, %d5, 1, 1, 1, 0;";
    for (computed, of_warp, of_group) in [
        ("mov.u32 %r4, %r1;", 0, 0),
        ("shr.u32 %r4, %r2, 5; shl.b32 %r4, %r4, 21; add.u32 %r4, %r4, %r1;", 0, 1),
        ("and.b32 %r4, %r2, -32;", 0, 1),
        ("add.u32 %r4, %r3, %r1;", 1, 1),
    ] {
        for instruction in [ld, st, dealloc] {
            assert_eq!(said(computed, instruction), of_warp, "{computed} {instruction}");
        }
        for instruction in [product, in_registers] {
            assert_eq!(said(computed, instruction), of_group, "{computed} {instruction}");
        }
    }
}

/// A kernel of two roles, each of which says something, decided by `asked` besides.
fn in_two_roles(before: &str, asked: [&str; 2], said: [&str; 2]) -> Vec<Finding> {
    let [first, second] = asked.map(|asked| if asked.is_empty() { "" } else { "@!%p3 bra D;" });
    let body = format!(
        "{before}\nsetp.gt.u32 %p1, %r2, 31;\n@%p1 bra A;\n{}\n{first}\n//@baton {}\nbra.uni D;\nA:\n{}\n{second}\n\
         //@baton {}\nD:",
        asked[0], said[0], asked[1], said[1]
    );
    findings(64, 1, "", &body)
}

#[test]
fn an_end_has_one_set() {
    let ends = |said: [&str; 2]| in_two_roles("", ["", ""], said).len();
    assert_eq!(ends(["end 0 1 3", "end 0 1 6"]), 1);
    for [first, second] in [
        // One set, at two places; two ends; two fields.
        ["end 0 1 3", "end 0 1 3"],
        ["end 0 1 3", "end 0 0 6"],
        ["end 0 1 3", "end 2 1 6"],
    ] {
        assert_eq!(ends([first, second]), 0, "{first}, {second}");
    }
    let [finding] = &in_two_roles("", ["", ""], ["end 4 1 3", "end 4 1 6"])[..] else { panic!() };
    let text = finding.to_string();
    for words in ["place 4", "that of the warp of role 0", "that of the warp of role 1"] {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn what_all_threads_know_may_choose_the_set() {
    let of = |before: &str, asked| in_two_roles(before, asked, ["end 0 1 3", "end 0 1 6"]).len();
    for (asked, refused) in [
        (["setp.lt.u32 %p3, %r1, 6;", "setp.gt.u32 %p3, %r1, 5;"], 0),
        (["setp.lt.u32 %p3, %r1, 6;", "setp.ge.u32 %p3, %r1, 6;"], 0),
        (["setp.eq.u32 %p3, %r1, 0;", "setp.ne.u32 %p3, %r1, 0;"], 0),
        (["setp.eq.u32 %p3, %r1, 0;", "setp.eq.u32 %p3, %r1, 1;"], 0),
        (["setp.lt.s32 %p3, %r1, 0;", "setp.gt.s32 %p3, %r1, -1;"], 0),
        (
            [
                "and.b32 %r4, %r1, 1; setp.eq.u32 %p3, %r4, 0;",
                "and.b32 %r6, %r1, 1; setp.ne.u32 %p3, %r6, 0;",
            ],
            0,
        ),
        (["setp.lt.u32 %p3, %r1, 6;", "setp.gt.u32 %p3, %r1, 4;"], 1),
        (["setp.lt.u32 %p3, %r1, 6;", "setp.lt.u32 %p3, %r1, 6;"], 1),
        // Each thread may read another number.
        (
            [
                "ld.volatile.global.u32 %r4, [%d1]; setp.lt.u32 %p3, %r4, 6;",
                "ld.volatile.global.u32 %r4, [%d1]; setp.gt.u32 %p3, %r4, 5;",
            ],
            1,
        ),
        // A thread's own number says nothing of other threads.
        (["setp.lt.u32 %p3, %r3, 6;", "setp.gt.u32 %p3, %r3, 5;"], 1),
    ] {
        assert_eq!(of("", asked), refused, "{asked:?}");
    }
    // All of the CTA take one way, before the roles or instead of them.
    let arms = |decided: &str| {
        let body = format!(
            "{decided}\n@%p1 bra A;\n//@baton end 0 1 3\nbra.uni B;\nA:\n//@baton end 0 1 6\nB:\nmov.u32 %r5, 1;\n//@baton roles 11"
        );
        findings(64, 1, "", &body).len()
    };
    assert_eq!(arms("setp.lt.u32 %p1, %r1, 5;"), 0);
    assert_eq!(arms("setp.lt.u32 %p1, %r2, 32;"), 1);
}

#[test]
fn a_parameter_is_known_by_where_it_was_read() {
    let opened = |kinds: [&str; 2]| {
        let [first, other] = kinds.map(|kind| format!("opened %d6 {kind}"));
        let said = [&*format!("{first} 3"), &*format!("{other} 6")];
        in_two_roles("ld.param.u64 %d6, [a];", ["", ""], said).len()
    };
    assert_eq!(opened(["mailbox", "mailbox"]), 1);
    assert_eq!(opened(["mailbox", "dekker"]), 0);
    let other = "mov.u64 %d7, %d6;";
    let two = |from: &str| {
        let before = format!("ld.param.u64 %d6, [a];{other}ld.param.u64 %d8, [a+8];{from}");
        in_two_roles(&before, ["", ""], ["opened %d6 mailbox 3", "opened %d9 mailbox 6"]).len()
    };
    assert_eq!(two("mov.u64 %d9, %d7;"), 1);
    assert_eq!(two("mov.u64 %d9, %d8;"), 0);
    // Nobody knows where it is from.
    assert_eq!(two("add.u64 %d9, %d8, 8;"), 1);
}

#[test]
fn ctas_of_a_cluster_that_loop_unequally_often_are_refused() {
    let meet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;";
    let severity = |bound: &str, start: &str, behind: &str| {
        let body = format!(
            "mov.u32 %r4, %ctaid.x;\n{bound}\n{start}\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra B;\nL:\n{meet}\n\
             add.u32 %r6, %r6, 1;\nsetp.ne.u32 %p2, %r6, %r5;\n@%p2 bra L;\nB:\n{behind}"
        );
        findings(64, 2, "", &body).first().map(|finding| finding.severity)
    };
    let one = "mov.u32 %r6, 0;";
    assert_eq!(severity("add.u32 %r5, %r1, %r4;", one, ""), Some(Severity::Error));
    assert_eq!(severity("sub.u32 %r5, 100, %r4;", one, ""), Some(Severity::Error));
    assert_eq!(severity("mov.u32 %r5, %cluster_ctarank;", one, ""), Some(Severity::Error));
    // The counter as it was before its step, compared by order.
    let below = |start: u32, guard: &str| {
        let body = format!(
            "mov.u32 %r4, %ctaid.x;\nadd.u32 %r5, %r1, %r4;\nmov.u32 %r6, {start};\n{guard}\nL:\n{meet}\n\
             add.u32 %r7, %r6, 1;\nsetp.lt.u32 %p2, %r6, %r5;\nmov.u32 %r6, %r7;\n@%p2 bra L;\nB:"
        );
        findings(64, 2, "", &body).first().map(|finding| finding.severity)
    };
    let guard = "setp.eq.u32 %p1, %r5, 0;\n@%p1 bra B;";
    assert_eq!(below(1, guard), Some(Severity::Error));
    assert_eq!(below(0, ""), Some(Severity::Error));
    // Two bounds below where it begins are one round each.
    assert_eq!(below(1, ""), Some(Severity::Warning));
    assert_eq!(below(5, guard), Some(Severity::Warning));
    // As often as each other, or perhaps.
    assert_eq!(severity("add.u32 %r5, %r1, 3;", one, ""), None);
    assert_eq!(
        severity("add.u32 %r5, %r1, %r4;", "mov.u32 %r6, %r4;", ""),
        Some(Severity::Warning)
    );
    assert_eq!(severity("mul.lo.u32 %r5, %r1, %r4;", one, ""), Some(Severity::Warning));
    // Who came less often may come behind.
    let behind = format!("setp.eq.u32 %p1, %r4, 0;\n@%p1 bra C;\n{meet}\nC:");
    assert_eq!(severity("add.u32 %r5, %r1, %r4;", one, &behind), Some(Severity::Warning));
}
