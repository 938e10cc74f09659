//! With instructions: rules A2, A7, B4, B5, D2, D3, D4, D6, for which the device library's types have no small form.

use baton::ptx::addr::{Addr, Global, SharedCta, Tmem};
use baton::ptx::tcgen05::{self, Group1, kind};
use baton::ptx::{atom, bulk, fence, ld, mbarrier, st, tensor, tensormap};
use baton::scope::{Cta, Gpu};
use baton::sem::{Acquire, Relaxed, Release};

use crate::NEW;

macro_rules! kernels {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),*) $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name($($arg: $ty),*) {
            // SAFETY: the arguments are addresses of what the kernel's documentation says.
            unsafe { $body }
        }
    )*};
}

/// Where operands and barriers lie in shared memory.
const A: u32 = 0;
const B: u32 = 16;
const OTHER_B: u32 = 32;
const FULL: u32 = 48;
const EMPTY: u32 = 56;
const FILLED: u32 = 64;

/// The address field of a matrix descriptor.
fn descriptor(address: u32) -> u64 {
    (address as u64 & 0x3_ffff) >> 4
}

fn barrier(address: u32) -> Addr<SharedCta> {
    Addr::from_raw(address)
}

/// # Safety
/// A live barrier is there.
unsafe fn wait(address: u32) {
    // SAFETY: the caller's promise.
    while !unsafe { mbarrier::try_wait_parity::<Acquire, Cta>(barrier(address), 0) } {}
}

kernels! {
    /// A2: data, then a release of the flag.
    fn publish(data: u64, flag: u64) {
        st::st_weak::<Global, u32>(Addr::from_raw(data), NEW);
        st::st::<Release, Gpu, Global, u32>(Addr::from_raw(flag), 1);
    }

    /// A2: adds to the flag, an acquiring fence, data.
    fn add_and_read(data: u64, flag: u64, out: u64) {
        let _ = atom::atom_add::<Relaxed, Gpu, Global, u32>(Addr::from_raw(flag), 1);
        fence::fence::<Acquire, Gpu>();
        let value = ld::ld_weak::<Global, u32>(Addr::from_raw(data));
        st::st_weak::<Global, u32>(Addr::from_raw(out), value + 1);
    }

    /// A7: one of two threads that count.
    fn count(counter: u64) {
        let _ = atom::atom_add::<Relaxed, Gpu, Global, u32>(Addr::from_raw(counter), 1);
    }

    /// B4: points a tensor map in global memory somewhere else, and copies the tile that it describes.
    fn edit_and_load(map: u64, matrix: u64, shared: u32, out: u64) {
        let place = Addr::<Global>::from_raw(map);
        tensormap::replace_global_address(place, matrix);
        fence::fence_proxy_tensormap_generic_release::<Gpu>();
        let map = Addr::from_raw(map);
        fence::fence_proxy_tensormap_generic_acquire::<Gpu>(map);
        let (to, filled) = (barrier(shared + A), barrier(shared + FILLED));
        let _ = mbarrier::arrive_expect_tx::<Release, Cta>(filled, 128);
        tensor::cp_async_bulk_tensor_to_shared(to, map, [0, 0], filled);
        wait(shared + FILLED);
        let value = ld::ld_weak::<SharedCta, u32>(to);
        st::st_weak::<Global, u32>(Addr::from_raw(out), value);
    }

    /// B5: copies the tile that a tensor map describes, waits for the copy, and points the map somewhere else.
    fn load_and_edit(map: u64, matrix: u64, shared: u32, out: u64) {
        let (to, filled) = (barrier(shared + A), barrier(shared + FILLED));
        let _ = mbarrier::arrive_expect_tx::<Release, Cta>(filled, 128);
        tensor::cp_async_bulk_tensor_to_shared(to, Addr::from_raw(map), [0, 0], filled);
        wait(shared + FILLED);
        tensormap::replace_global_address(Addr::<Global>::from_raw(map), matrix);
        let value = ld::ld_weak::<SharedCta, u32>(to);
        st::st_weak::<Global, u32>(Addr::from_raw(out), value);
    }

    /// D2, D3: multiplies, and once the product was loaded multiplies again.
    fn multiply_again(shared: u32, tensor: u32) {
        let d = Addr::<Tmem>::from_raw(tensor);
        let a = descriptor(shared + A);
        tcgen05::mma::<Group1, kind::F16>(d, a, descriptor(shared + B), 0, false);
        tcgen05::commit::<Group1, SharedCta>(barrier(shared + FULL));
        wait(shared + EMPTY);
        tcgen05::fence_after_thread_sync();
        tcgen05::mma::<Group1, kind::F16>(d, a, descriptor(shared + OTHER_B), 0, false);
    }

    /// D2, D3: loads the product, and says so.
    fn drain(shared: u32, tensor: u32, out: u64) {
        wait(shared + FULL);
        tcgen05::fence_after_thread_sync();
        let [product] = tcgen05::ld_32x32b_wait::<[u32; 1]>(Addr::from_raw(tensor));
        tcgen05::fence_before_thread_sync();
        mbarrier::arrive::<Release, Cta>(barrier(shared + EMPTY));
        st::st_weak::<Global, u32>(Addr::from_raw(out), product);
    }

    /// D4: stores to tensor memory, and says so.
    fn store_tensor(shared: u32, tensor: u32) {
        tcgen05::st_32x32b(Addr::<Tmem>::from_raw(tensor), [NEW]);
        tcgen05::wait_st();
        tcgen05::fence_before_thread_sync();
        mbarrier::arrive::<Release, Cta>(barrier(shared + FULL));
    }

    /// D6: multiplies, says when the operands and when the product are free to be used, and loads the product.
    fn multiply_and_load(shared: u32, tensor: u32, out: u64) {
        let d = Addr::<Tmem>::from_raw(tensor);
        let (a, b) = (descriptor(shared + A), descriptor(shared + B));
        tcgen05::mma::<Group1, kind::F16>(d, a, b, 0, false);
        tcgen05::commit::<Group1, SharedCta>(barrier(shared + EMPTY));
        tcgen05::commit::<Group1, SharedCta>(barrier(shared + FULL));
        wait(shared + FULL);
        tcgen05::fence_after_thread_sync();
        let [product] = tcgen05::ld_32x32b_wait::<[u32; 1]>(d);
        st::st_weak::<Global, u32>(Addr::from_raw(out), product);
    }

    /// D6: copies other operands over those that were multiplied.
    fn refill(shared: u32, other: u64) {
        wait(shared + EMPTY);
        let (from, to) = (Addr::<Global>::from_raw(other), barrier(shared + B));
        bulk::cp_async_bulk_to_shared(to, from, 16, barrier(shared + FILLED));
    }
}
