#![no_std]
#![feature(asm_experimental_arch, abi_ptx)]
use core::arch::asm;
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { asm!("trap;", options(noreturn)) }
}
#[inline(always)]
fn bar_sync() {
    unsafe { asm!("//@baton collective bar.sync", "bar.sync 0;", options(nostack)) }
}
#[inline(always)]
fn tid() -> u32 {
    let tid: u32;
    unsafe { asm!("mov.u32 {}, %tid.x;", out(reg32) tid, options(pure, nomem, nostack)) };
    tid
}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn k(to: *mut u32, n: u32) {
    let first = tid() < n;
    if first {
        unsafe { *to = 1 };
    }
    bar_sync();
    if first {
        unsafe { *to.add(1) = 2 };
    }
}
// Compiled by the pinned compiler for sm_90a with fat LTO and line tables, but without the flags of the
// builder, this became copied_barrier.raw.ptx: the barrier stands on both arms of `if first`.
