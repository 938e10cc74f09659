//! Words that several devices have behind one address.
//!
//! A multimem address names the same offset in the memory of every device of a multicast object. Only `multimem`
//! instructions may use it (rule A11): they load from all devices and reduce, store to all, or reduce into all. An ordinary
//! load of the same number has no meaning; a device reaches its own copy through an ordinary address of that memory.
//!
//! ISA: *multimem.ld_reduce, multimem.st, multimem.red*. PTX 8.1, sm_90.

use core::marker::PhantomData;

use crate::atomic::Atomics;
use crate::ptx;
use crate::ptx::atom::Bitwise;
use crate::ptx::multimem::{Multimem, MultimemAdd, MultimemMinMax};
use crate::scope::Scope;
use crate::sem::{LoadSem, RedSem, StoreSem};
use crate::shared_access::check;
use crate::tile::Element;
use crate::token::{Brand, Cta, Marks, sealed};

/// An array of words of type `T` on several devices, all accesses to which are strong and at the scope `S`.
pub struct Multicast<'k, T, S> {
    address: u64,
    len: u64,
    brand: Brand<'k>,
    types: Marks<(T, S)>,
}

impl<T, S> Clone for Multicast<'_, T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, S> Copy for Multicast<'_, T, S> {}

/// Memory of one device, which ordinary operations reach.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is memory of several devices behind one address",
    label = "an ordinary operation on a multimem address",
    note = "rule A11: a multimem address is used by `multimem` instructions only; any other access to it is undefined (PTX ISA 8.2.3, \
            multimem.ld_reduce, multimem.st, multimem.red)",
    note = "use `load_reduce_add`, `store` or `red_add`; for this device's own copy take the array a second time, as `Atomics` of its \
            ordinary address"
)]
pub trait OneMemory: sealed::Sealed {}
impl<T, S> sealed::Sealed for Atomics<'_, T, S> {}
impl<T, S> OneMemory for Atomics<'_, T, S> {}

impl<'k, T: Element, S: Scope> Multicast<'k, T, S> {
    /// Claims `len` words at a multimem address.
    ///
    /// # Safety
    /// 1. `address` is a multimem address, aligned for `T`, of `len` live and initialised words on each device.
    /// 2. Every thread that touches those words during the launch, through whatever address, does so with strong
    ///    operations of this type and scope (rule A7), and is in the scope `S` of every other such thread (rule A5).
    #[inline(always)]
    pub unsafe fn claim<L, const THREADS: u32>(
        cta: &Cta<'k, L, THREADS>,
        address: u64,
        len: u64,
    ) -> Self {
        let _ = cta;
        Multicast { address, len, brand: PhantomData, types: PhantomData }
    }

    /// Word `index`. Traps when it is out of range.
    #[inline(always)]
    fn at(&self, index: u64) -> Multimem {
        check(index < self.len);
        Multimem::from_raw(self.address).offset(index * size_of::<T>() as u64)
    }

    /// `multimem.ld_reduce.M.S.global.add`: the sum over the devices.
    #[inline(always)]
    pub fn load_reduce_add<M: LoadSem>(&self, index: u64) -> T
    where
        T: MultimemAdd,
    {
        // SAFETY: in range; all accesses are strong, of one size and scope, by the claim (I24).
        unsafe { ptx::multimem::ld_reduce_add::<M, S, T>(self.at(index)) }
    }

    /// `multimem.ld_reduce.M.S.global.max`: the largest over the devices.
    #[inline(always)]
    pub fn load_reduce_max<M: LoadSem>(&self, index: u64) -> T
    where
        T: MultimemMinMax,
    {
        // SAFETY: as in `load_reduce_add`.
        unsafe { ptx::multimem::ld_reduce_max::<M, S, T>(self.at(index)) }
    }

    /// `multimem.st.M.S.global`: stores to all devices. They are not one atomic unit together.
    #[inline(always)]
    pub fn store<M: StoreSem>(&self, index: u64, value: T)
    where
        T: Bitwise,
    {
        // SAFETY: as in `load_reduce_add`.
        unsafe { ptx::multimem::st::<M, S, T>(self.at(index), value) }
    }

    /// `multimem.red.M.S.global.add`: adds on all devices. Observes nothing (rule A2).
    #[inline(always)]
    pub fn red_add<M: RedSem>(&self, index: u64, value: T)
    where
        T: MultimemAdd,
    {
        // SAFETY: as in `load_reduce_add`.
        unsafe { ptx::multimem::red_add::<M, S, T>(self.at(index), value) }
    }

    /// An ordinary load, for memory of one device: which this is not (rule A11).
    #[inline(always)]
    pub fn load<M: LoadSem>(&self, index: u64) -> T
    where
        Self: OneMemory,
    {
        let _ = index;
        unreachable!()
    }
}
