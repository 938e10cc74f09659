//! Protocols written with the device library's instructions, whose compiled form the model judges.

#![no_std]
#![feature(abi_ptx, asm_experimental_arch)]

use baton::ptx::addr::{Addr, Global, SharedCta};
use baton::ptx::{self, bulk, fence, mbarrier};
use baton::scope::{Cta, Gpu};
use baton::sem::{Acquire, Relaxed, Release};

/// Rules A1, A5: data, then a release of the flag.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn send(data: u64, flag: u64) {
    unsafe {
        ptx::st::st_weak::<Global, u32>(Addr::from_raw(data), 42);
        ptx::st::st::<Release, Gpu, Global, u32>(Addr::from_raw(flag), 1);
    }
}

/// Rules A1, A5: the data is read once an acquire saw the flag.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn receive(data: u64, flag: u64, out: u64) {
    unsafe {
        if ptx::ld::ld::<Acquire, Gpu, Global, u32>(Addr::from_raw(flag)) == 1 {
            let value = ptx::ld::ld_weak::<Global, u32>(Addr::from_raw(data));
            ptx::st::st_weak::<Global, u32>(Addr::from_raw(out), value + 1);
        }
    }
}

/// Rule A4: data, a releasing fence, a relaxed store of the flag.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn send_fence(data: u64, flag: u64) {
    unsafe {
        ptx::st::st_weak::<Global, u32>(Addr::from_raw(data), 42);
        fence::fence::<Release, Gpu>();
        ptx::st::st::<Relaxed, Gpu, Global, u32>(Addr::from_raw(flag), 1);
    }
}

/// Rule A3: a relaxed load of the flag, an acquiring fence, the data.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn receive_fence(data: u64, flag: u64, out: u64) {
    unsafe {
        if ptx::ld::ld::<Relaxed, Gpu, Global, u32>(Addr::from_raw(flag)) == 1 {
            fence::fence::<Acquire, Gpu>();
            let value = ptx::ld::ld_weak::<Global, u32>(Addr::from_raw(data));
            ptx::st::st_weak::<Global, u32>(Addr::from_raw(out), value + 1);
        }
    }
}

/// Rule C6, producer: initialises the barrier, fills, arrives.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fill(tile: u32, full: u32) {
    unsafe {
        mbarrier::init(Addr::<SharedCta>::from_raw(full), 1);
        ptx::barrier::bar_sync(0);
        ptx::st::st_weak::<SharedCta, u32>(Addr::from_raw(tile), 42);
        let _ = mbarrier::arrive::<Release, Cta>(Addr::<SharedCta>::from_raw(full));
    }
}

/// Rule C6, consumer: waits, then reads.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn drain(tile: u32, full: u32, out: u64) {
    unsafe {
        ptx::barrier::bar_sync(0);
        while !mbarrier::try_wait_parity::<Acquire, Cta>(Addr::<SharedCta>::from_raw(full), 0) {}
        let value = ptx::ld::ld_weak::<SharedCta, u32>(Addr::from_raw(tile));
        ptx::st::st_weak::<Global, u32>(Addr::from_raw(out), value + 1);
    }
}

/// Rules B1, B7: an ordinary store, the proxy fence, a bulk store, its end, the destination.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn store_tile(tile: u32, destination: u64, out: u64) {
    unsafe {
        ptx::st::st_weak::<SharedCta, u32>(Addr::from_raw(tile), 42);
        fence::fence_proxy_async_in::<SharedCta>();
        bulk::cp_async_bulk_to_global(Addr::<Global>::from_raw(destination), Addr::<SharedCta>::from_raw(tile), 16);
        bulk::commit_group();
        bulk::wait_group::<0>();
        let value = ptx::ld::ld_weak::<Global, u32>(Addr::from_raw(destination));
        ptx::st::st_weak::<Global, u32>(Addr::from_raw(out), value + 1);
    }
}
