//! Every combination of fences, arrivals and waits with which two CTAs of a cluster hand shared memory over: nothing is
//! said of those that are enough, and of each other one a rule names what is missing. Which are enough is a formula that
//! the memory model is compared with, too.

#[path = "../../model/tests/suite/handover_forms.rs"]
#[allow(dead_code, reason = "the model's tests use the rest")]
mod handover_forms;

use baton_emulator::{Hazard, Launch, Machine, Options, Program};
use handover_forms::{Back, Fence, First, Full, Ordinary, Plain, backs, fulls, plains};

const SEEDS: u64 = 4;

fn lines(fences: &[Fence]) -> String {
    fences.iter().map(|fence| format!("{};\n", fence.text())).collect()
}

fn wait(label: &str, (semantics, scope): (&str, &str), barrier: &str, parity: &str) -> String {
    format!(
        "{label}: mbarrier.try_wait.parity.{semantics}.{scope}.shared::cta.b64 %p3, [{barrier}], {parity};\n\
         @!%p3 bra {label};\n"
    )
}

/// A kernel of two CTAs: `loader` is the body of rank 0, by one thread if `one`, `reader` that of rank 1. Each has a slot (`%r1`,
/// the other's `%r11`), and the barriers `full` (`%r2`, `%r12`) and `drained` (`%r3`, `%r13`).
fn kernel(loader: &str, one: bool, reader: &str) -> String {
    // Whoever copies into the slot does so first; ordinary accesses find a value there.
    let begin = if loader.contains("cp.async") { "" } else { "st.shared.u32 [%r1], 0;\n" };
    let one = if one { "@%p1 bra END;\n" } else { "" };
    format!(
        ".version 9.4\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 slot[4096];\n\
         .shared .align 8 .b8 full[8];\n.shared .align 8 .b8 drained[8];\n.visible .entry k(.param .u64 a0)\n{{\n\
         .reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b64 %d<8>;\n.reg .f32 %f<4>;\n\
         ld.param.u64 %d0, [a0];\nadd.u64 %d1, %d0, 8192;\n\
         mov.u32 %r0, %tid.x;\nmov.u32 %r1, slot;\nmov.u32 %r2, full;\nmov.u32 %r3, drained;\n\
         mov.u32 %r4, %cluster_ctarank;\nxor.b32 %r5, %r4, 1;\nsetp.ne.u32 %p0, %r4, 0;\nsetp.ne.u32 %p1, %r0, 0;\n\
         mapa.shared::cluster.u32 %r11, %r1, %r5;\nmapa.shared::cluster.u32 %r12, %r2, %r5;\n\
         mapa.shared::cluster.u32 %r13, %r3, %r5;\n\
         @%p1 bra READY;\nmbarrier.init.shared::cta.b64 [%r2], 1;\nmbarrier.init.shared::cta.b64 [%r3], 1;\n\
         fence.mbarrier_init.release.cluster;\n{begin}READY:\n\
         barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\nmov.u32 %r20, 0;\n\
         @%p0 bra READER;\n{one}{loader}bra END;\nREADER:\n{reader}END:\n\
         barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\nret;\n}}\n"
    )
}

const COPY: &str = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r11], [%d0], 4096, [%r12]; // second\n";
const EXPECT: &str =
    "@!%p1 mbarrier.arrive.expect_tx.relaxed.cluster.shared::cta.b64 _, [%r2], 4096;\n";
const PRODUCT: &str = "wgmma.fence.sync.aligned;\n\
     wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d2, %d2, 1, 1, 1, 0, 0;\n\
     wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";

/// A ring of one slot, filled twice.
fn back_text(back: &Back) -> String {
    let loader = format!(
        "FILL:\nxor.b32 %r21, %r20, 1;\n{}{}{COPY}add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p4, %r20, 2;\n@%p4 bra FILL;\n",
        wait("DRAINED", back.wait, "%r3", "%r21"),
        lines(&back.behind)
    );
    let (before, read, barrier) = match back.first {
        First::Own => ("", "ld.shared::cta.u32 %r7, [%r1];\n", ""),
        First::Others => (
            "shl.b32 %r6, %r0, 2;\nadd.u32 %r6, %r1, %r6;\n",
            "ld.shared::cta.u32 %r7, [%r6];\n",
            "bar.warp.sync -1;\n",
        ),
        First::Product => (
            "shr.u32 %r6, %r1, 4;\ncvt.u64.u32 %d2, %r6;\nor.b64 %d2, %d2, 0x800080000;\n\
             mov.f32 %f0, 0f00000000;\nmov.f32 %f1, 0f00000000;\nmov.f32 %f2, 0f00000000;\nmov.f32 %f3, 0f00000000;\n",
            PRODUCT,
            "bar.sync 1, 128;\n",
        ),
    };
    let reader = format!(
        "{before}READ:\n{EXPECT}{}{}{read}{}{barrier}@%p1 bra NEXT;\n{}\
         mbarrier.arrive.{}.{}.shared::cluster.b64 _, [%r13];\nNEXT:\n{barrier}\
         add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p4, %r20, 2;\n@%p4 bra READ;\n",
        wait("FULL", ("acquire", "cluster"), "%r2", "%r20"),
        lines(&[Fence::AcquireHalf]),
        lines(&back.each),
        lines(&back.leader),
        back.arrive.0,
        back.arrive.1,
    );
    kernel(&loader, true, &reader)
}

fn full_text(full: &Full) -> String {
    let read = match full.through_async {
        false => "ld.shared::cta.u32 %r7, [%r1]; // second\n",
        true => {
            "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], 4096; // second\n\
             cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
        }
    };
    let reader =
        format!("{EXPECT}{}{}{read}", wait("FULL", full.wait, "%r2", "0"), lines(&full.behind));
    // Behind the cluster barrier everybody knows that the slot is ordered by what is ordinary; nobody has read it.
    kernel(&COPY.replace(" // second", ""), true, &reader)
}

fn plain_text(plain: &Plain) -> String {
    let (first, second) = match plain.what {
        Ordinary::Shown => {
            ("st.shared::cta.u32 [%r1], 3;\n", "ld.shared::cluster.u32 %r7, [%r11]; // second\n")
        }
        Ordinary::Pushed => {
            ("st.shared::cluster.u32 [%r11], 3;\n", "ld.shared::cta.u32 %r7, [%r1]; // second\n")
        }
        Ordinary::Pulled => {
            ("ld.shared::cluster.u32 %r7, [%r11];\n", "st.shared::cta.u32 [%r1], 3; // second\n")
        }
    };
    let fences = lines(&plain.leader);
    if plain.at_barrier {
        let barrier =
            format!("barrier.cluster.arrive.{};\nbarrier.cluster.wait.acquire;\n", plain.arrive);
        return kernel(&format!("{first}{fences}{barrier}"), false, &format!("{barrier}{second}"));
    }
    let arrive =
        format!("mbarrier.arrive.{}.cluster.shared::cluster.b64 _, [%r13];\n", plain.arrive);
    let wait = wait("W", (plain.wait, "cluster"), "%r3", "0");
    kernel(
        &format!("{first}{fences}{arrive}"),
        true,
        &format!("{wait}{}{second}", lines(&plain.behind)),
    )
}

/// What is said of a kernel in some schedules.
fn said(text: &str, block: u32) -> Vec<Hazard> {
    let program = Program::load(text, "made", None).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut all = Vec::new();
    for seed in 0..SEEDS {
        let mut machine = Machine::new(Options { seed, strict: true, ..Options::default() });
        let address = machine.alloc(16384, 256).expect("memory");
        machine.write(address, &[0; 16384]).expect("memory");
        let launch = Launch {
            kernel: "k".into(),
            grid: [2, 1, 1],
            block: [block, 1, 1],
            cluster: [2, 1, 1],
            params: vec![address.to_le_bytes().to_vec()],
            ..Launch::default()
        };
        let report = machine.launch(&program, &launch).unwrap_or_else(|e| panic!("{e}\n{text}"));
        all.extend(report.hazards);
    }
    all
}

/// Compares what is said with what is to be said.
fn compare(
    cases: impl Iterator<Item = (String, bool, &'static [&'static str], String, u32)>,
) -> [usize; 2] {
    let mut counts = [0; 2];
    let mut wrong = Vec::new();
    for (name, suffices, rules, text, block) in cases {
        counts[usize::from(suffices)] += 1;
        let said = said(&text, block);
        let second =
            text.lines().position(|line| line.ends_with("// second")).expect("a line") as u32 + 1;
        let here = |hazard: &&Hazard| hazard.site.line == second || hazard.rule == "C7";
        let named = said.iter().filter(here).any(|hazard| rules.contains(&hazard.rule));
        if suffices != said.is_empty() || !suffices && !named {
            let first = said.first().map_or_else(|| "nothing".to_owned(), ToString::to_string);
            let expected = if suffices { "silence".to_owned() } else { format!("{rules:?}") };
            wrong.push(format!("{name}: {expected}, but {first}"));
        }
    }
    wrong.truncate(wrong.len().min(12));
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    counts
}

#[test]
fn what_is_handed_back_is_silent_or_named() {
    let counts = compare(backs().into_iter().map(|back| {
        let block = match back.first {
            First::Own => 1,
            First::Others => 32,
            First::Product => 128,
        };
        (back.name(), back.suffices(true), back.rules(), back_text(&back), block)
    }));
    assert!(counts.iter().all(|count| *count > 150), "{counts:?}");
}

#[test]
fn what_is_filled_is_silent_or_named() {
    let counts = compare(
        fulls()
            .into_iter()
            .map(|full| (format!("{full:?}"), full.suffices(), full.rules(), full_text(&full), 1)),
    );
    assert!(counts.iter().all(|count| *count > 15), "{counts:?}");
}

#[test]
fn ordinary_accesses_are_silent_or_named() {
    let counts = compare(plains().into_iter().map(|plain| {
        (format!("{plain:?}"), plain.suffices(), plain.rules(), plain_text(&plain), 1)
    }));
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
}
