//! Litmus tests as kernels.
//!
//! A launch runs one test thousands of times at once. An *instance* has locations and result slots of its own; the
//! threads of its test meet and then run their few instructions. The instructions are those of the test's litmus file,
//! one for one, in layer 0.
//!
//! What makes rare outcomes likelier: the roles of an instance are in different CTAs (unless the test is about one), its
//! locations are far apart, in an order that each launch shuffles, and further CTAs keep the memory system busy.
//!
//! Every kernel takes the same arguments: memory for the locations, zero before the launch; [`SLOTS`] results for each
//! instance; scratch memory; the CTAs of each role; any number to shuffle by; and how often the disturbing CTAs, those
//! beyond the test's own, do what they do.
#![no_std]

mod between;
mod inside;

pub use between::*;
pub use inside::*;

use baton::ptx::addr::{Addr, Global};
use baton::ptx::{atom, ld, sreg, st};
use baton::scope::Gpu;
use baton::sem::Relaxed;

/// Threads of a CTA.
pub const THREADS: u32 = 128;

/// Words from one instance's location to the next's.
pub const STRIDE: u32 = 8;

/// Result slots of an instance.
pub const SLOTS: u32 = 4;

/// Words of scratch memory; a power of two.
pub const SCRATCH: u32 = 1 << 14;

/// Places of a location for each instance: `x`, `y`, and where its threads meet.
pub const LOCATIONS: u32 = 3;

/// How often a thread looks whether the others of its instance are there. They may not be on the device yet.
const PATIENCE: u32 = 256;

/// One thread's part in one instance.
#[derive(Clone, Copy)]
struct Part {
    role: u32,
    x: Addr<Global>,
    y: Addr<Global>,
    results: Addr<Global>,
}

impl Part {
    /// # Safety
    /// `slot` is below [`SLOTS`], and no other thread of the instance writes it.
    #[inline(always)]
    unsafe fn result(&self, slot: u32, value: u32) {
        // SAFETY: the caller's promise.
        unsafe { st::st_weak(self.results.offset(4 * slot), value) }
    }
}

/// Keeps the memory system busy: strong stores and loads all over the scratch memory.
///
/// # Safety
/// `scratch` has [`SCRATCH`] words, which are only accessed here.
#[inline(always)]
unsafe fn disturb(scratch: Addr<Global>, times: u32, shuffle: u32) {
    let mut at = sreg::ctaid_x().wrapping_mul(THREADS).wrapping_add(sreg::tid_x()) ^ shuffle;
    let mut time = 0;
    while time < times {
        at = at.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
        let word = scratch.offset((at >> 16) % SCRATCH * 4);
        // SAFETY: inside the scratch memory, where all accesses are these.
        unsafe {
            st::st::<Relaxed, Gpu, _, u32>(word, at);
            at ^= ld::ld::<Relaxed, Gpu, _, u32>(word) & 0xffff;
        }
        time += 1;
    }
}

/// Waits until all `roles` threads of an instance are there, or patience ends. Nothing is ordered by it.
///
/// # Safety
/// `word` is the instance's meeting place, zero before the launch.
#[inline(always)]
unsafe fn meet(word: Addr<Global>, roles: u32) {
    // SAFETY: the caller's promise; all accesses are relaxed at the scope of the GPU.
    unsafe {
        let mut there = atom::atom_add::<Relaxed, Gpu, _, u32>(word, 1) + 1;
        let mut look = 0;
        while there < roles && look < PATIENCE {
            there = ld::ld::<Relaxed, Gpu, _, u32>(word);
            look += 1;
        }
    }
}
