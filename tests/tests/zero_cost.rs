//! What the types of the Blackwell GEMM cost: nothing in its loops. The kernel's twin on raw instructions
//! (`gemm_raw_f32`) is the measure, in PTX and in machine code.

use std::collections::BTreeSet;

use baton_builder::Arch;
use baton_ptx::Module;
use baton_tests::code::{Code, Opcodes};
use baton_tests::{Kernels, examples, kernels, test_kernels};

const TYPED: &str = "gemm_f32";
/// The kernel that takes tiles as they come: its roles do the same with each of them.
const DYNAMIC: &str = "gemm_dynamic_f32";
const RAW: &str = "gemm_raw_f32";

fn gemm() -> Kernels {
    kernels("gemm-blackwell", Arch::Sm100a)
}

#[test]
fn the_loops_of_the_machine_code_are_those_of_the_twin() {
    let listing = gemm().listing();
    let [typed, dynamic, raw] =
        [TYPED, DYNAMIC, RAW].map(|kernel| Code::of_listing(&listing, kernel));
    // The tensor core's instruction, and the copy engine's.
    for instruction in ["UTCHMMA", "UTMALDG"] {
        let by_hand = raw.loops_around(instruction);
        assert_eq!(typed.loops_around(instruction), by_hand, "{instruction}");
        let dynamic = dynamic.loops_around(instruction);
        assert_eq!(dynamic.len(), by_hand.len(), "{instruction}, dynamic");
        for (opcodes, by_hand) in dynamic.iter().zip(&by_hand) {
            // A constant is kept in a register, or loaded each time.
            let more = opcodes.iter().find(|(op, n)| by_hand.get(*op).is_none_or(|most| *n > most));
            assert_eq!(more, None, "{instruction}, dynamic: {opcodes:?}, by hand {by_hand:?}");
        }
    }
}

#[test]
fn the_loops_of_the_ptx_are_those_of_the_twin() {
    let built = gemm();
    let module = Module::parse(&built.ptx, "gemm").expect("the builder's PTX");
    let [typed, dynamic, raw] = [TYPED, DYNAMIC, RAW].map(|kernel| Code::of_ptx(&module, kernel));
    for instruction in ["tcgen05.mma", "cp.async.bulk.tensor.2d.shared::cluster"] {
        let without_copies = |code: &Code| {
            let mut loops = code.loops_around(instruction);
            // PTX has no end of registers: ptxas makes one of a register and its copy.
            loops.iter_mut().for_each(|opcodes| _ = opcodes.remove("mov.b32"));
            loops
        };
        assert_eq!(without_copies(&typed), without_copies(&raw), "{instruction}");
        assert_eq!(without_copies(&dynamic), without_copies(&raw), "{instruction}, dynamic");
    }
    // The epilogue's are scheduled differently, and are as long.
    let length = |code: &Code| -> Vec<usize> {
        code.loops_around("tcgen05.ld").iter().map(|opcodes| opcodes.values().sum()).collect()
    };
    let (typed, raw) = (length(&typed), length(&raw));
    assert_eq!(typed.len(), raw.len());
    assert!(typed.iter().zip(&raw).all(|(typed, raw)| typed <= raw), "{typed:?}, by hand {raw:?}");
}

#[test]
fn the_types_take_no_registers() {
    let built = gemm();
    let [typed, raw] = [TYPED, RAW].map(|name| {
        let kernel = built.binary.kernels.iter().find(|kernel| kernel.name == name);
        kernel.and_then(|kernel| kernel.usage).expect("the kernel was assembled").registers
    });
    assert!(typed.abs_diff(raw) <= 2, "{typed} registers, by hand {raw}");
}

/// A pair has one hand-over for both CTAs, and so the loops of a CTA alone.
#[test]
fn the_loops_of_a_pair_are_those_of_a_cta_alone() {
    let pair = Code::of_listing(&test_kernels("typed", Arch::Sm100a).listing(), "pair_product");
    let alone = Code::of_listing(&gemm().listing(), RAW);
    let length = |code: &Code, instruction: &str| -> usize {
        code.loops_around(instruction).iter().flat_map(Opcodes::values).sum()
    };
    // The commit takes a mask of the CTAs, and one of the two announces the bytes of both on a barrier at another's address.
    for instruction in ["UTCHMMA", "UTMALDG"] {
        let (pair, alone) = (length(&pair, instruction), length(&alone, instruction));
        assert!(pair <= alone + 1, "{instruction}: {pair}, of a CTA alone {alone}");
    }
}

/// Kernels with a fence of the whole GPU, or an L1 that forgets what it holds, in a loop: what they hand on is in global memory, or read in
/// a peer's memory.
const FENCED: &[(&str, &[&str])] = &[
    (
        "flags, locks and words in global memory (rules A1, A5, A8, A9)",
        &[
            "exchange", "grid", "once", "pairs", "queue", "readers", "sides", "spin", "tickets",
            "turns", "forgets", "pushes", "early",
        ],
    ),
    ("a tensor map in global memory that is edited (rule B4)", &["edits"]),
    (
        "`PeerExchange`: every thread may read every element of every CTA's memory, behind the cluster's own barrier, which takes no \
         restricted fence and has no relaxed wait (rules F2, F3)",
        &["peers", "unequal"],
    ),
    (
        "a stage that its pair does not multiply: what lies in the peer's memory comes back by a release of all memory (rule F9)",
        &["pair_skips"],
    ),
];

/// A hand-over through shared or tensor memory needs no fence that reaches the whole GPU, and no L1 that forgets.
#[test]
fn no_loop_has_a_fence_of_the_whole_gpu_for_memory_of_a_cluster() {
    let examples = examples();
    let examples = examples.iter().flat_map(|example| {
        let built =
            |arch: &Arch| (kernels(&example.name, *arch), format!("{} for {arch}", example.name));
        example.targets.iter().map(built)
    });
    let tests = [("typed", Arch::Sm100a), ("products", Arch::Sm90a)];
    let tests = tests.map(|(name, arch)| (test_kernels(name, arch), format!("{name} for {arch}")));
    let mut found = Vec::new();
    let mut unneeded: BTreeSet<&str> =
        FENCED.iter().flat_map(|(_, kernels)| *kernels).copied().collect();
    for (built, place) in examples.chain(tests) {
        let listing = built.listing();
        for kernel in &built.binary.kernels {
            let far = |opcode: &String| {
                opcode.starts_with("CCTL")
                    || (opcode.starts_with("MEMBAR") && opcode.contains("GPU"))
            };
            let mut fences = Code::of_listing(&listing, &kernel.name).opcodes_in_loops();
            fences.retain(far);
            let excepted =
                FENCED.iter().any(|(_, kernels)| kernels.contains(&kernel.name.as_str()));
            if !fences.is_empty() && !excepted {
                found.push(format!("{} of {place}: {fences:?}", kernel.name));
            }
            if !fences.is_empty() {
                unneeded.remove(kernel.name.as_str());
            }
        }
    }
    assert_eq!(found, [""; 0]);
    assert_eq!(unneeded, BTreeSet::new(), "these have no such fence: leave them out");
}

/// In the loop over the tiles: conversions of two values, stores of as many bytes as one instruction has, and none of one value, of less, or to
/// a thread's own memory.
#[test]
fn epilogues_convert_two_values_and_store_wide() {
    const TWO: &str = "F2FP.BF16.F32.PACK_AB";
    const ROW: &str = "STS.128";
    const MATRICES: &str = "STSM.16.M88.4";
    const SUMS: &str = "STS.64";
    type Wanted = (&'static str, &'static [(&'static str, usize)]);
    // Of a thread: 128 columns, the 256 of a pair, 32 columns at a time; of a warpgroup, each thread: 64 or 128 sums, of two warpgroups twice.
    let blackwell: [Wanted; 6] = [
        ("gemm_f32", &[(ROW, 32)]),
        ("gemm_bf16", &[(TWO, 64), (ROW, 16)]),
        ("gemm_dynamic_bf16", &[(TWO, 64), (ROW, 16)]),
        ("gemm_pair_f32", &[(ROW, 64)]),
        ("gemm_pair_bf16", &[(TWO, 128), (ROW, 32)]),
        ("gemm_fused", &[(TWO, 16), (ROW, 4)]),
    ];
    let hopper: [Wanted; 6] = [
        ("gemm", &[(SUMS, 32)]),
        ("gemm_bf16", &[(TWO, 32), (MATRICES, 8)]),
        ("gemm_cooperative", &[(SUMS, 128)]),
        ("gemm_cooperative_bf16", &[(TWO, 128), (MATRICES, 32)]),
        ("gemm_multicast", &[(SUMS, 128)]),
        ("gemm_multicast_bf16", &[(TWO, 128), (MATRICES, 32)]),
    ];
    for (built, kernels) in [(gemm(), blackwell), (kernels("gemm-hopper", Arch::Sm90a), hopper)] {
        let listing = built.listing();
        for (kernel, wanted) in kernels {
            let mut opcodes = Opcodes::new();
            for opcode in Code::of_listing(&listing, kernel).opcodes_in_loops() {
                if ["F2F", "STS", "STL", "LDL"].iter().any(|begin| opcode.starts_with(begin)) {
                    *opcodes.entry(opcode).or_default() += 1;
                }
            }
            let wanted: Opcodes =
                wanted.iter().map(|&(opcode, times)| (opcode.to_owned(), times)).collect();
            assert_eq!(opcodes, wanted, "{kernel}");
        }
    }
}
