//! How many operands an instruction has.
//!
//! A decoder takes what it needs of the operands; that nothing is missing, and that nothing stands behind, is checked
//! here for all of them, before any of them looks.

use super::*;
use std::ops::RangeInclusive;

/// Refuses an instruction with too few or too many operands.
pub(super) fn check(opcode: &str, mods: &Mods, o: &[Operand]) -> Result<()> {
    let Some(expected) = expected(opcode, mods, o) else { return Ok(()) };
    if expected.contains(&o.len()) {
        return Ok(());
    }
    let (least, most) = (*expected.start(), *expected.end());
    let wanted = match most - least {
        0 if most == 1 => "1 operand".into(),
        0 if most == 0 => "no operands".into(),
        0 => format!("{most} operands"),
        1 => format!("{least} or {most} operands"),
        _ => format!("{least} to {most} operands"),
    };
    Err(format!("{} where {wanted} belong", o.len()))
}

/// Numbers of operands; none where the mnemonic is not known, or its decoder counts for itself.
fn expected(opcode: &str, mods: &Mods, o: &[Operand]) -> Option<RangeInclusive<usize>> {
    let is = |m: &str| mods.contains(m);
    let one_if = |m: &str| usize::from(is(m));
    let hint = one_if("L2::cache_hint");
    let exactly = |n: usize| Some(n..=n);
    match opcode {
        "shfl" | "vote" | "match" | "redux" if !is("sync") => None,
        // One source.
        "neg" | "abs" | "sqrt" | "rsqrt" | "rcp" | "ex2" | "lg2" | "sin" | "cos" | "tanh"
        | "not" | "cnot" | "popc" | "clz" | "brev" | "bfind" | "testp" | "cvta" | "isspacep"
        | "getctarank" | "mov" | "movmatrix" => exactly(2),
        "cvt" if is("pack") => exactly(3 + one_if("b32")),
        "cvt" if is("rs") || mods.any(|m| m.starts_with("scaled::")) => None,
        // Two numbers become a pair.
        "cvt" => exactly(2 + usize::from(mods.any(|m| m.ends_with("x2")) && is("f32"))),
        // Two.
        "add" | "sub" | "mul" | "mul24" | "div" | "rem" | "addc" | "subc" | "copysign" | "and"
        | "or" | "xor" | "shl" | "shr" | "bmsk" | "szext" | "mapa" => exactly(3),
        "min" | "max" => Some(3..=if is("f32") { 4 } else { 3 }),
        "setp" | "set" => Some(3..=4),
        // Three.
        "fma" | "mad" | "madc" | "mad24" | "sad" | "bfe" | "shf" | "prmt" | "dp4a" | "dp2a"
        | "fns" | "selp" | "slct" | "vabsdiff2" | "vabsdiff4" => exactly(4),
        "bfi" | "lop3" => exactly(5),
        // Memory.
        "ld" | "ldu" => exactly(2 + hint),
        "st" | "red" if is("async") && !is("mmio") || is("bulk") => exactly(3),
        "st" | "red" => exactly(2 + hint),
        "atom" => exactly(3 + one_if("cas") + hint),
        "multimem" if !is("cp") => exactly(2),
        "membar" => exactly(0),
        "fence" if is("tensormap::generic") && is("acquire") => exactly(2),
        "fence" => exactly(0),
        "prefetch" | "prefetchu" => exactly(1),
        "discard" | "applypriority" => exactly(2),
        "createpolicy" if is("fractional") => Some(1..=2),
        "createpolicy" if is("range") => exactly(4),
        "createpolicy" => exactly(2),
        "ldmatrix" | "stmatrix" => exactly(2),
        "mbarrier" => match mods.start() {
            "init" | "expect_tx" | "complete_tx" | "pending_count" => exactly(2),
            "inval" => exactly(1),
            "arrive" | "arrive_drop" => {
                let state = usize::from(!matches!(o, [Operand::Address(_), ..]));
                let least = 1 + state + one_if("expect_tx");
                Some(least..=2 + state)
            }
            "test_wait" => exactly(3),
            "try_wait" => Some(3..=4),
            _ => None,
        },
        "cp" => copies(mods, hint),
        "tensormap" if is("replace") => Some(2..=3),
        "tensormap" => exactly(3),
        "clusterlaunchcontrol" => exactly(2),
        // Threads together.
        "bra" => exactly(1),
        "brx" => exactly(2),
        "ret" | "exit" | "trap" | "brkpt" | "griddepcontrol" => exactly(0),
        "call" => Some(1..=4),
        "barrier" if is("cluster") => exactly(0),
        "bar" if is("warp") => exactly(1),
        "bar" | "barrier" if is("red") => Some(3..=4),
        "bar" | "barrier" if is("arrive") => exactly(2),
        "bar" | "barrier" => Some(1..=2),
        "shfl" => exactly(5),
        "vote" | "match" | "redux" => exactly(3),
        "elect" => exactly(2),
        "activemask" | "nanosleep" | "setmaxnreg" | "pmevent" => exactly(1),
        // Matrices.
        "mma" if is("block_scale") => None,
        "mma" if is("sp") || is("sp::ordered_metadata") => exactly(6),
        "mma" => exactly(4),
        "wmma" => match mods.start() {
            "mma" => exactly(4),
            _ => Some(2..=3),
        },
        "tcgen05" => match mods.start() {
            "alloc" | "dealloc" | "cp" => exactly(2),
            "shift" => exactly(1),
            "relinquish_alloc_permit" | "wait::ld" | "wait::st" => exactly(0),
            "fence::before_thread_sync" | "fence::after_thread_sync" => exactly(0),
            "commit" => exactly(1 + one_if("multicast::cluster")),
            _ => None,
        },
        _ => None,
    }
}

/// `cp.async`, small, bulk and of tensors.
fn copies(mods: &Mods, hint: usize) -> Option<RangeInclusive<usize>> {
    let is = |m: &str| mods.contains(m);
    let one_if = |m: &str| usize::from(is(m));
    let exactly = |n: usize| Some(n..=n);
    let to_shared = is("mbarrier::complete_tx::bytes");
    let multicast = one_if("multicast::cluster");
    match () {
        () if is("commit_group") || is("wait_all") => exactly(0),
        () if is("wait_group") => exactly(1),
        () if !is("bulk") && is("mbarrier") => exactly(1),
        () if !is("bulk") => Some(3..=4 + hint),
        () if is("prefetch") && !is("tensor") => exactly(2 + hint),
        // Of an `im2col` load, the offsets may stand behind the barrier.
        () if is("prefetch") => Some(1 + hint..=2 + hint),
        () if is("tensor") && to_shared => {
            let least = 3 + multicast + hint;
            Some(least..=least + usize::from(mods.any(|m| m.starts_with("im2col"))))
        }
        () if is("tensor") => exactly(2 + hint),
        () if to_shared => exactly(4 + multicast + hint + 2 * one_if("ignore_oob")),
        () => exactly(3 + hint + one_if("cp_mask")),
    }
}
