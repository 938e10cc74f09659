//! Collectives in the places where LLVM copies them if nothing keeps it from it: at a join between
//! two branches on one condition, and in a loop around a condition that does not change.
#![cfg(target_arch = "nvptx64")]
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::missing_safety_doc)]

use baton::ptx::addr::Addr;
use baton::ptx::{barrier, control, sreg, tcgen05, warp};
use baton::sem::Release;

/// A collective between two branches on one condition.
macro_rules! joins {
    ($p:ident $n:ident: $($name:ident $collective:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name($p: *mut u32, $n: u32) {
            // SAFETY: nobody runs this kernel.
            unsafe {
                let first = sreg::tid_x() > $n;
                if first { $p.write_volatile(1) } else { $p.add(1).write_volatile(2) }
                $collective;
                if first { $p.add(2).write_volatile(3) } else { $p.add(3).write_volatile(4) }
            }
        }
    )*};
}

joins! { p n:
    barrier_at_join barrier::bar_sync(0);
    named_barrier_at_join barrier::bar_sync_count(1, 64);
    cluster_barrier_at_join barrier::barrier_cluster_arrive_aligned::<Release>();
    shuffle_at_join p.add(9).write_volatile(warp::shfl_sync::<warp::Bfly, u32>(n, 1, 31, warp::FULL).0);
    vote_at_join p.add(9).write_volatile(warp::vote_sync_all(n > 4, warp::FULL) as u32);
    election_at_join if warp::elect_sync(warp::FULL) { p.add(8).write_volatile(8) };
    allocation_at_join tcgen05::alloc::<tcgen05::Group1>(Addr::from_raw(0), 64);
    tensor_load_at_join p.add(9).write_volatile(tcgen05::ld_32x32b::<[u32; 4]>(Addr::from_raw(0))[2]);
    register_count_at_join control::setmaxnreg_dec::<24>();
}

/// A barrier between two branches on a condition that the loop does not change.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn barrier_in_loop(p: *mut u32, n: u32) {
    // SAFETY: nobody runs this kernel.
    unsafe {
        let marked = p.read_volatile() == 3;
        for i in 0..n {
            if marked {
                p.add(i as usize).write_volatile(i);
            }
            barrier::bar_sync(0);
            if marked {
                p.add(2).write_volatile(i);
            }
        }
    }
}
