//! Why there is `baton::ptx::atom`: what the pinned compiler makes of `core::sync::atomic`.
//!
//! Its read-modify-writes with `AcqRel` and `SeqCst` come out relaxed and at gpu scope, so they order
//! nothing besides their own location; and no scope can be named. When one of these tests fails, the
//! compiler has changed: look at what it emits now, and correct what the documentation says.

use baton_builder::Arch;

use crate::ptx;

/// The memory operations of a kernel, without operands.
fn operations(ptx: &str, kernel: &str) -> Vec<String> {
    let head = format!(".entry {kernel}(");
    let (_, from) = ptx.split_once(&head).unwrap_or_else(|| panic!("no kernel {kernel}"));
    let (body, _) = from.split_once("\n}").expect("a body");
    let mnemonics = body.lines().filter_map(|line| line.split_whitespace().next());
    let is_memory = |name: &&str| {
        ["ld.", "st.", "atom.", "red.", "fence", "membar"].iter().any(|op| name.starts_with(op))
            && !name.starts_with("ld.param")
            && !name.contains("volatile")
    };
    mnemonics.filter(is_memory).map(|name| name.trim_end_matches(';').to_owned()).collect()
}

#[test]
fn core_atomics_lose_their_ordering_and_ours_keep_it() {
    let ptx = ptx("atomics", Arch::Sm90a);
    let said = |kernel| operations(&ptx, kernel);
    // The miscompilation: nothing of AcqRel or SeqCst is left.
    let relaxed = said("core_add_relaxed");
    assert_eq!(relaxed, ["atom.global.add.u32"]);
    assert_eq!(said("core_add_acq_rel"), relaxed);
    assert_eq!(said("core_add_seq_cst"), relaxed);
    assert_eq!(said("core_swap_acq_rel"), ["atom.global.exch.b32"]);
    // These are right, but at system scope, the widest and slowest.
    assert_eq!(said("core_cas_acq_rel"), ["atom.acq_rel.sys.global.cas.b32"]);
    assert_eq!(said("core_load_acquire"), ["ld.acquire.sys.global.b32"]);
    assert_eq!(said("core_store_release"), ["st.release.sys.global.b32"]);
    assert_eq!(said("core_fence_seq_cst"), ["fence.sc.sys"]);

    assert_eq!(said("baton_add_acq_rel"), ["atom.acq_rel.gpu.global.add.u32"]);
    assert_eq!(said("baton_add_sequential"), ["fence.sc.sys", "atom.acquire.sys.global.add.u32"]);
    assert_eq!(said("baton_swap_acq_rel"), ["atom.acq_rel.gpu.global.exch.b32"]);
    assert_eq!(said("baton_cas_acq_rel"), ["atom.acq_rel.gpu.global.cas.b32"]);
    assert_eq!(said("baton_load_acquire"), ["ld.acquire.gpu.global.b32"]);
    assert_eq!(said("baton_store_release"), ["st.release.gpu.global.b32"]);
}
