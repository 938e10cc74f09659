//! A barrier of the whole grid, with the arrays that it hands over.

use core::marker::PhantomData;

#[cfg(not(target_arch = "nvptx64"))]
use super::{DeviceSliceMut, KernelParam, Params, SyncWords};
use super::{Guarded, Word};
use crate::global::{ReceiveParam, read_global, write_global};
use crate::ptx::addr::{Addr, Global};
use crate::ptx::sreg;
use crate::scope::{Gpu, Includes, Scope};
use crate::sem::{Acquire, Release};
use crate::shared_access::check;
use crate::signature::{Kind, Signature};
use crate::tile::Element;
use crate::token::{Cta, Marks, SameSet, Set, StaysWithItsThreads};

/// Two arrays (of which only the shorter length counts): in each step every thread of the grid writes its elements of one and may read all of the
/// other, and a barrier of the grid exchanges them. A kernel parameter.
///
/// The host passes the array that is read first, then the other. All CTAs of the grid have to be on the device at the
/// same time: the call says so ([`Call::co_resident`](crate::launch::Call::co_resident)), and the host refuses a
/// grid that is too large (rule F5).
///
/// # Why that orders
/// Each CTA's leader adds one with `red.release` behind the CTA's barrier, and waits with `ld.acquire` until all have. The
/// reductions form one chain, so that whoever reads its end synchronises with each of them (ISA 8.8; observation order
/// goes on through read-modify-writes). What a CTA read before the barrier comes before what others write behind it, by
/// the same chain.
///
/// ```
/// use baton::prelude::*;
/// use baton::protocol::GridExchange;
///
/// /// Each element becomes the mean of its neighbours, `steps` times.
/// #[baton::kernel(threads = 128)]
/// fn smooth(cta: Cta<'_, NoShared, 128>, rod: GridExchange<f32>, steps: u32) -> Exit<'_> {
///     let mut cta = cta;
///     let mut rod = rod.open(&mut cta);
///     let last = rod.len() - 1;
///     for _ in 0..steps {
///         rod.step(&mut cta, |old, i| {
///             let (left, right) = (i.saturating_sub(1), if i < last { i + 1 } else { i });
///             (old.get(left) + old.get(right)) / 2.0
///         });
///     }
///     let (cta, ()) = cta.claim();
///     cta.join().exit(())
/// }
/// # fn main() {}
/// ```
#[repr(C)]
pub struct GridExchange<T, S = Gpu> {
    front: Guarded<T, S>,
    back: u64,
    back_len: u64,
}

// SAFETY: six 64-bit words, as the host pushes them: the synchronisation word, how many, and the two arrays (I27).
unsafe impl<T: Element, S> ReceiveParam for GridExchange<T, S> {
    type Abi = Self;
    const SIGNATURE: Signature = Signature::array(Kind::GridExchange, T::TYPE);
    #[inline(always)]
    unsafe fn receive(abi: Self, _: impl FnOnce() -> u64) -> Self {
        abi
    }
}
#[cfg(not(target_arch = "nvptx64"))]
impl<T: Element, S> KernelParam for GridExchange<T, S> {
    type Host<'a> = (SyncWords<'a, 1>, DeviceSliceMut<'a, T>, DeviceSliceMut<'a, T>);
    fn push((word, front, back): Self::Host<'_>, params: &mut Params) {
        params.require_co_residency();
        params.push_guarded(word, [front, back]);
    }
}

/// The arrays of a [`GridExchange`] in the hands of a CTA.
pub struct Grid<T, S, C> {
    word: Word<S>,
    /// CTAs of the grid.
    ctas: u32,
    /// What the word shows when every CTA has come to the barrier of this step.
    target: u32,
    front: u64,
    back: u64,
    len: u64,
    types: Marks<(T, C)>,
    stays: StaysWithItsThreads,
}

/// What the step before left: every thread may read it.
pub struct Before<'a, T> {
    data: u64,
    len: u64,
    types: PhantomData<&'a T>,
}

impl<T: Element, S: Scope> GridExchange<T, S> {
    /// Opens the arrays for this CTA.
    #[inline(always)]
    pub fn open<'k, L, const THREADS: u32>(
        self, // F5, C3: a CTA counts its steps once; go on with the exchange that this returns
        cta: &mut Cta<'k, L, THREADS>,
    ) -> Grid<T, S, Cta<'k, L, THREADS>>
    where
        S: Includes<Gpu>,
    {
        let _ = cta;
        let ctas = sreg::nctaid_x() * sreg::nctaid_y() * sreg::nctaid_z();
        Grid {
            // SAFETY: the host passes one word (I24).
            word: unsafe { self.front.word(0) },
            ctas,
            target: ctas,
            front: self.front.data,
            back: self.back,
            len: if self.back_len < self.front.len { self.back_len } else { self.front.len },
            types: PhantomData,
            stays: PhantomData,
        }
    }
}

impl<T: Element, S: Scope, C: Set> Grid<T, S, C> {
    /// Number of elements of each array.
    #[inline(always)]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One step: each thread of the grid asks `value(before, i)` for the elements that it owns (thread `r` of CTA `b` of
    /// `c` owns `n b + r`, `n b + r + n c`, …), and all wait for each other.
    ///
    /// # PTX
    /// The CTA's barrier, `red.release.S.global.add.u32` and a loop over `ld.acquire.S.global.b32` by one thread, the CTA's
    /// barrier. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn step<U>(&mut self, cta: &mut U, mut value: impl FnMut(&Before<'_, T>, u64) -> T)
    where
        U: SameSet<C>,
    {
        let before = Before { data: self.front, len: self.len, types: PhantomData };
        let [x, y, z] = [sreg::ctaid_x(), sreg::ctaid_y(), sreg::ctaid_z()].map(u64::from);
        let [nx, ny] = [sreg::nctaid_x(), sreg::nctaid_y()].map(u64::from);
        let mut index = (x + nx * (y + ny * z)) * U::THREADS as u64 + cta.rank() as u64;
        while index < self.len {
            let at: Addr<Global> = Addr::from_raw(self.back + index * size_of::<T>() as u64);
            // SAFETY: in range, this thread's own (I16), and nobody reads this array before the barrier below (I13).
            unsafe { write_global(at, value(&before, index)) };
            index += U::THREADS as u64 * self.ctas as u64;
        }

        let (word, target) = (self.word, self.target);
        cta.barrier_for(word.raw());
        cta.lead(|| {
            word.red_add::<Release>(1);
            // No CTA is more than one step ahead, so the difference is small.
            while (word.load::<Acquire>().value().wrapping_sub(target) as i32) < 0 {}
        });
        cta.barrier();
        self.target = target.wrapping_add(self.ctas);
        (self.front, self.back) = (self.back, self.front);
    }

    /// Element `index` as the last step left it. Traps when it is out of range.
    #[inline(always)]
    pub fn get(&self, index: u64) -> T {
        Before { data: self.front, len: self.len, types: PhantomData }.get(index)
    }
}

impl<T: Element> Before<'_, T> {
    /// Number of elements.
    #[inline(always)]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Element `index`. Traps when it is out of range.
    #[inline(always)]
    pub fn get(&self, index: u64) -> T {
        check(index < self.len);
        // SAFETY: in range; nobody writes this array before the next barrier of the grid, which this thread's CTA has
        // not come to (I13); what was written came through the last one (I25).
        unsafe { read_global(Addr::from_raw(self.data + index * size_of::<T>() as u64)) }
    }
}
