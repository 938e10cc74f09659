//! The same atomic operations twice: with `core::sync::atomic`, and with `baton::ptx`.
//!
//! `tests/tests/layer0` compares what they become.
#![cfg(target_arch = "nvptx64")]
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::missing_safety_doc)]

use core::sync::atomic::{AtomicU32, Ordering, fence};

use baton::ptx::addr::{Addr, Global};
use baton::ptx::{self, atom, ld, st};
use baton::scope::{Gpu, Sys};
use baton::sem::{AcqRel, Acquire, Release, Sc};

macro_rules! kernels {
    ($($name:ident($p:ident) $body:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name($p: *mut u32, result: *mut u32) {
            // SAFETY: nobody runs this kernel.
            unsafe { result.write_volatile($body) }
        }
    )*};
}

fn at(p: *mut u32) -> Addr<Global> {
    Addr::from_raw(p as u64)
}

kernels! {
    core_add_acq_rel(p) AtomicU32::from_ptr(p).fetch_add(7, Ordering::AcqRel);
    core_add_seq_cst(p) AtomicU32::from_ptr(p).fetch_add(7, Ordering::SeqCst);
    core_add_relaxed(p) AtomicU32::from_ptr(p).fetch_add(7, Ordering::Relaxed);
    core_swap_acq_rel(p) AtomicU32::from_ptr(p).swap(7, Ordering::AcqRel);
    core_cas_acq_rel(p) {
        match AtomicU32::from_ptr(p).compare_exchange(1, 2, Ordering::AcqRel, Ordering::Acquire) {
            Ok(old) | Err(old) => old,
        }
    };
    core_load_acquire(p) AtomicU32::from_ptr(p).load(Ordering::Acquire);
    core_store_release(p) {
        AtomicU32::from_ptr(p).store(7, Ordering::Release);
        0
    };
    core_fence_seq_cst(p) {
        fence(Ordering::SeqCst);
        p.read_volatile()
    };

    baton_add_acq_rel(p) atom::atom_add::<AcqRel, Gpu, _, u32>(at(p), 7);
    baton_add_sequential(p) {
        ptx::fence::fence::<Sc, Sys>();
        atom::atom_add::<Acquire, Sys, _, u32>(at(p), 7)
    };
    baton_swap_acq_rel(p) atom::atom_exch::<AcqRel, Gpu, _, u32>(at(p), 7);
    baton_cas_acq_rel(p) atom::atom_cas::<AcqRel, Gpu, _, u32>(at(p), 1, 2);
    baton_load_acquire(p) ld::ld::<Acquire, Gpu, _, u32>(at(p));
    baton_store_release(p) {
        st::st::<Release, Gpu, _, u32>(at(p), 7);
        0
    };
}
