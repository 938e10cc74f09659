//! Control of threads, warps and grids.
//!
//! Stopping, sleeping, handing registers between warpgroups, and waiting for the grid that this one
//! depends on.
//!
//! ISA: *trap*, *exit*, *nanosleep*, *setmaxnreg*, *griddepcontrol*.

/// `trap;` PTX 1.0. Stops the kernel with an error.
///
/// ISA: *trap*.
#[inline(always)]
pub fn trap() -> ! {
    device! { asm!("trap;", options(noreturn, nostack)) }
}

/// `exit;` PTX 1.0. Ends this thread.
///
/// ISA: *exit*. Can break B9, D8, D13, F1, F3.
///
/// # Safety
/// 1. No barrier counts on this thread any more, except those that let exited threads out.
/// 2. No asynchronous operation that this CTA issued still uses its shared memory, no tensor memory is
///    allocated, and no peer still uses this CTA's shared memory.
/// 3. Destructors of this thread do not run.
#[inline(always)]
pub unsafe fn exit() -> ! {
    device! { asm!("exit;", options(noreturn, nostack)) }
}

/// `nanosleep.u32 t;` PTX 6.3, sm_70. Sleeps for about `nanoseconds`, at most 1 ms, often less.
///
/// ISA: *nanosleep*.
#[inline(always)]
pub fn nanosleep(nanoseconds: u32) {
    device! { asm!("nanosleep.u32 {};", in(reg32) nanoseconds, options(nomem, nostack)) }
}

/// `griddepcontrol.launch_dependents;` PTX 7.8, sm_90.
///
/// Lets dependent grids be scheduled once all CTAs of this one have said so or ended. It publishes
/// nothing.
///
/// ISA: *griddepcontrol*.
#[inline(always)]
pub fn griddepcontrol_launch_dependents() {
    device! { asm!("griddepcontrol.launch_dependents;", options(nostack)) }
}

/// `griddepcontrol.wait;` PTX 7.8, sm_90.
///
/// Waits until the grids that this one depends on have completed and their writes are visible.
///
/// ISA: *griddepcontrol*. Can break F6 by its absence.
#[inline(always)]
pub fn griddepcontrol_wait() {
    device! { asm!("griddepcontrol.wait;", options(nostack)) }
}

/// `setmaxnreg.inc.sync.aligned.u32 n;` PTX 8.0, sm_90a, sm_100a, sm_103a, sm_110a, sm_120a.
///
/// Waits for registers to be free, then raises this warp's limit to `REGISTERS`.
///
/// ISA: *setmaxnreg*. Can break F1, F4.
///
/// # Safety
/// 1. Every thread of the warpgroup executes it together.
/// 2. `REGISTERS` is a multiple of 8 from 24 to 256, not below the current limit; the limits of all
///    warps together fit the CTA's allocation; a barrier separates it from a previous `setmaxnreg`.
#[inline(always)]
pub unsafe fn setmaxnreg_inc<const REGISTERS: u32>() {
    device! {
        super::anchor();
        asm!(
            "//@baton collective setmaxnreg",
            "setmaxnreg.inc.sync.aligned.u32 {};",
            const REGISTERS, options(nostack)
        )
    }
}

/// `setmaxnreg.dec.sync.aligned.u32 n;` PTX 8.0, sm_90a, sm_100a, sm_103a, sm_110a, sm_120a.
///
/// Lowers this warp's limit to `REGISTERS` and frees the rest.
///
/// ISA: *setmaxnreg*. Can break F1, F4.
///
/// # Safety
/// 1. Every thread of the warpgroup executes it together.
/// 2. `REGISTERS` is a multiple of 8 from 24 to 256, not above the current limit; a barrier separates it
///    from a previous `setmaxnreg`.
#[inline(always)]
pub unsafe fn setmaxnreg_dec<const REGISTERS: u32>() {
    device! {
        super::anchor();
        asm!(
            "//@baton collective setmaxnreg",
            "setmaxnreg.dec.sync.aligned.u32 {};",
            const REGISTERS, options(nostack)
        )
    }
}
