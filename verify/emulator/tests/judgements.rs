//! How severe a report is, whom it names, and what two judges say of one program.
//!
//! Each program is here with the change that makes it right: of that nothing is said.

use baton_emulator::{Hazard, Launch, Machine, Options, Program, Severity};

const SEEDS: u64 = 40;

/// The lines of a kernel `k` with shared memory and the address of a buffer.
fn module(shared: &str, body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n{shared}\n\
         .visible .entry k(.param .u64 a0)\n{{\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b16 %h<4>;\n.reg .b64 %a<8>;\n\
         ld.param.u64 %a0, [a0];\nmov.u32 %r0, %tid.x;\n{body}\nret;\n}}\n"
    )
}

/// What is said under any of some schedules, not strictly.
fn hazards(text: &str, grid: u32, block: u32) -> Vec<Hazard> {
    let program = Program::load(text, "judged", None).unwrap_or_else(|e| panic!("{e}"));
    let mut all = Vec::new();
    for seed in 0..SEEDS {
        let mut machine = Machine::new(Options { seed, ..Options::default() });
        let address = machine.alloc(4096, 256).expect("memory");
        machine.write(address, &[0; 4096]).expect("memory");
        let launch = Launch {
            kernel: "k".into(),
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            params: vec![address.to_le_bytes().to_vec()],
            ..Launch::default()
        };
        let report = machine.launch(&program, &launch).unwrap_or_else(|e| panic!("{e}"));
        all.extend(report.hazards);
    }
    all
}

fn of_rule<'h>(hazards: &'h [Hazard], rule: &str) -> Vec<&'h Hazard> {
    hazards.iter().filter(|hazard| hazard.rule == rule).collect()
}

#[test]
fn equal_values_by_two_warps_are_a_warning_and_others_an_error() {
    let body = |value: &str, barrier: &str| {
        module(
            ".shared .align 4 .b8 word[4];",
            &format!(
                "mov.u32 %r2, word;\nshr.u32 %r3, %r0, 5;\nsetp.eq.u32 %p0, %r3, 1;\n\
                 @%p0 st.shared.u32 [%r2], 1;\n{barrier}\n@!%p0 st.shared.u32 [%r2], {value};"
            ),
        )
    };
    let same = hazards(&body("1", ""), 1, 64);
    assert!(!same.is_empty());
    // Whichever warp comes first finds something else there; the second one finds its own value.
    assert!(same.iter().all(|h| h.rule == "A13" && h.severity == Severity::Warning), "{same:?}");
    let different = hazards(&body("2", ""), 1, 64);
    assert!(of_rule(&different, "A13").iter().any(|h| h.severity == Severity::Error));
    assert!(hazards(&body("2", "bar.sync 0;"), 1, 64).is_empty());
}

#[test]
fn equal_values_by_two_ctas_are_a_warning() {
    let body = |store: &str| module("", &format!("{store} [%a0], 1;"));
    let same = hazards(&body("st.global.u32"), 4, 32);
    assert!(!same.is_empty());
    assert!(same.iter().all(|h| h.rule == "A9" && h.severity == Severity::Warning), "{same:?}");
    assert!(hazards(&body("st.relaxed.gpu.global.u32"), 4, 32).is_empty());
}

/// An error between a pair of instructions is kept where the first conflict was a disputed point.
#[test]
fn a_warning_hides_no_error_of_the_same_pair() {
    // Both warps run one store: it is of equal values for the first word, and of different ones for the second.
    let body = |value: &str| {
        module(
            ".shared .align 8 .b8 words[8];",
            &format!(
                "mov.u32 %r2, words;\nshr.u32 %r3, %r0, 5;\nand.b32 %r4, %r0, 1;\nshl.b32 %r5, %r4, 2;\nadd.u32 %r2, %r2, %r5;\n\
                 setp.lt.u32 %p0, %r0, 2;\nsetp.eq.u32 %p1, %r0, 32;\nor.pred %p0, %p0, %p1;\nsetp.eq.u32 %p1, %r0, 33;\n\
                 or.pred %p0, %p0, %p1;\nmul.lo.u32 %r6, %r4, {value};\n@%p0 st.shared.u32 [%r2], %r6;"
            ),
        )
    };
    let mixed = hazards(&body("%r3"), 1, 64);
    assert!(of_rule(&mixed, "A13").iter().any(|h| h.severity == Severity::Error), "{mixed:?}");
    let equal = hazards(&body("0"), 1, 64);
    assert!(equal.iter().all(|h| h.severity == Severity::Warning), "{equal:?}");
}

/// A copy completes on an mbarrier; the report names the warp of the thread that issued it.
#[test]
fn the_issuer_of_a_copy_is_named() {
    let body = |wait: &str| {
        module(
            ".shared .align 128 .b8 tile[128];\n.shared .align 8 .b8 bar[8];",
            &format!(
                "mov.u32 %r2, tile;\nmov.u32 %r3, bar;\nsetp.eq.u32 %p0, %r0, 0;\n@!%p0 bra READY;\n\
                 mbarrier.init.shared::cta.b64 [%r3], 1;\nfence.mbarrier_init.release.cluster;\nREADY:\nbar.sync 0;\n\
                 setp.eq.u32 %p1, %r0, 70;\n@!%p1 bra ISSUED;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;\n\
                 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%a0], 128, [%r3];\nISSUED:\n\
                 {wait}\n@%p0 ld.shared.u32 %r4, [%r2];\n\
                 LAST: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;\n@!%p2 bra LAST;"
            ),
        )
    };
    let early = hazards(&body(""), 1, 96);
    let copies = of_rule(&early, "B6");
    assert!(!copies.is_empty(), "{early:?}");
    for hazard in copies {
        assert!(hazard.message.contains("block (0, 0, 0) warp 2"), "{hazard}");
    }
    let wait = "FULL: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;\n@!%p2 bra FULL;";
    assert!(hazards(&body(wait), 1, 96).is_empty());
}
