//! What the types of the Blackwell GEMM cost: nothing in its loops. The kernel's twin on raw instructions
//! (`gemm_raw_f32`) is the measure, in PTX and in machine code.

use std::process::Command;

use baton_builder::provision::{Store, cuda};
use baton_builder::{Arch, Environment};
use baton_ptx::Module;
use baton_tests::code::Code;
use baton_tests::{Kernels, kernels, root};

const TYPED: &str = "gemm_f32";
/// The kernel that takes tiles as they come: its roles do the same with each of them.
const DYNAMIC: &str = "gemm_dynamic_f32";
const RAW: &str = "gemm_raw_f32";

fn gemm() -> Kernels {
    kernels("gemm-blackwell", Arch::Sm100a)
}

#[test]
fn the_loops_of_the_machine_code_are_those_of_the_twin() {
    let environment = Environment::of_process();
    let store = Store::locate(&environment, || root().join("target"));
    let tools = cuda::find(&environment, &store, "nvdisasm");
    let tool = tools.iter().max_by_key(|tool| tool.release).expect("nvdisasm is provisioned");
    let built = gemm();
    let output = Command::new(&tool.path)
        .arg("--print-code")
        .arg(built.binary.cubin.expect("ptxas was required"))
        .output()
        .expect("nvdisasm starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listing = String::from_utf8(output.stdout).expect("a listing is text");

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
