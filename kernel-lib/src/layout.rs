//! Shared memory as a type: what [`shared!`](crate::shared) declares and [`Cta::claim`] prepares.
//!
//! A layout is a list of fields. Each field says how many bytes of shared memory and columns of tensor
//! memory it needs, initialises its barriers, and becomes a *part* that carries the tag type of its field, so
//! that two fields of one type do not fit each other's place.

mod declared;

use crate::ptx::addr::{Addr, SharedCta};
use crate::token::{Acts, Cta, Set, WARP, sealed};
use crate::{ptx, require};
use core::marker::PhantomData;

#[doc(hidden)]
pub use declared::{PartOf, Placed, Tag, columns, place};

/// A layout whose parts have been handed out.
pub struct Claimed<L>(PhantomData<L>);

/// Where a field lies in the CTA's shared memory.
pub type Base = Addr<SharedCta>;

/// Columns of tensor memory that one SM has.
pub const TENSOR_COLUMNS: u32 = 512;

/// One field of a layout.
///
/// # Safety
/// 1. `init` leaves the field ready for every endpoint that `part` hands out, given that all of its writes are
///    made visible before.
/// 2. The field touches `BYTES` bytes from its base and `COLUMNS` columns from its tensor memory address, nothing
///    else.
/// 3. `Closed` exists only when no asynchronous operation uses the field any more.
pub unsafe trait Field {
    /// Bytes of shared memory.
    const BYTES: u32;
    /// Alignment in shared memory.
    const ALIGN: u32;
    /// Columns of tensor memory.
    const COLUMNS: u32 = 0;
    /// Whether its tensor memory is that of a pair of CTAs, `cta_group::2`.
    const PAIR: bool = false;
    /// CTAs of the cluster that the field spans; 0 if it stays in one CTA.
    const CLUSTER: u32 = 0;
    /// Whether its parts arrive on the cluster's barrier between the claim and the exit.
    const ARRIVES_ON_CLUSTER: bool = false;
    /// CTAs of the clusters that have not started whose work it asks for, 1 for a CTA alone; 0 if it does not ask.
    const ASKS: u32 = 0;
    /// Whether it has mbarriers that the async proxy or another CTA reaches: their initialisation needs more than a barrier
    /// of the CTA (rule C1).
    const REMOTE_BARRIERS: bool = true;
    /// What the roles work with.
    type Part<'k, Tag>;
    /// The proof that the field is no longer used; `()` where nothing asynchronous can outlive the roles.
    type Closed<'k, Tag>: Proof;
    /// # Safety
    /// 1. One thread of the CTA calls this, once, before any other access to the field.
    /// 2. `base` is the field's place, `threads` the size of the CTA.
    #[doc(hidden)]
    unsafe fn init(base: Addr<SharedCta>, threads: u32);
    /// # Safety
    /// 1. `init` has run and is visible to this thread and to the async proxy.
    /// 2. Each thread calls this once.
    /// 3. `tensor` is the address of the field's columns.
    #[doc(hidden)]
    unsafe fn part<'k, Tag>(base: Addr<SharedCta>, tensor: u32) -> Self::Part<'k, Tag>;
}

/// A layout of shared memory; implemented by [`shared!`](crate::shared).
///
/// # Safety
/// 1. The fields lie behind each other without overlap, each on its alignment, in `BYTES` bytes.
/// 2. `init` and `parts` call each field's once, with its own base and columns.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layout of shared memory that waits to be claimed",
    label = "claimed before, or no layout",
    note = "rule C2: shared memory is claimed once, since its barriers are initialised once",
    note = "declare it with `baton::shared! {{ pub struct Smem in smem {{ … }} }}`, and go on with the CTA and the parts that the first \
            `cta.claim()` returns"
)]
pub unsafe trait Layout: 'static {
    /// Bytes of dynamic shared memory.
    const BYTES: u32;
    /// Columns of tensor memory.
    const COLUMNS: u32;
    /// Whether the tensor memory is that of a pair of CTAs, `cta_group::2`.
    const PAIR: bool = false;
    /// CTAs of the clusters that the kernel is launched in; 0 if no field asks for one.
    const CLUSTER: u32 = 0;
    /// Whether a field arrives on the cluster's barrier between the claim and the exit.
    const ARRIVES_ON_CLUSTER: bool = false;
    /// CTAs of the clusters that have not started whose work a field asks for; 0 if none does.
    const ASKS: u32 = 0;
    /// Whether a field has mbarriers that the async proxy or another CTA reaches.
    const REMOTE_BARRIERS: bool = true;
    /// The parts, one for each field, under the field's name.
    type Parts<'k>;
    /// The proofs that the fields are no longer used, in the fields' order, without those that are `()`.
    type Closed<'k>;
    /// # Safety
    /// As [`Field::init`].
    #[doc(hidden)]
    unsafe fn init(base: Addr<SharedCta>, threads: u32);
    /// # Safety
    /// As [`Field::part`].
    #[doc(hidden)]
    unsafe fn parts<'k>(base: Addr<SharedCta>, tensor: u32) -> Self::Parts<'k>;
}

/// What closes a field: a proof, or `()` for a field that needs none and takes no place among the others.
pub trait Proof: sealed::Sealed {
    /// The proofs with this one before them.
    type Before<Rest: Proofs>: Proofs;
}

impl Proof for () {
    type Before<Rest: Proofs> = Rest;
}

/// A tuple of proofs.
pub trait Proofs: of_tuples::Sealed {
    /// The tuple with one more in front.
    type With<First>: Proofs;
}

/// Seals the tuples of proofs.
mod of_tuples {
    pub trait Sealed {}
}

macro_rules! proofs {
    ($(($($t:ident),*))*) => {$(
        impl<$($t),*> of_tuples::Sealed for ($($t,)*) {}
        impl<$($t),*> Proofs for ($($t,)*) {
            type With<First> = (First, $($t,)*);
        }
    )*};
}
proofs! { () (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) (A, B, C, D, E, F) (A, B, C, D, E, F, G) }

impl<A, B, C, D, E, F, G, H> of_tuples::Sealed for (A, B, C, D, E, F, G, H) {}
/// Stands for more proofs than a layout can have.
impl<A, B, C, D, E, F, G, H> Proofs for (A, B, C, D, E, F, G, H) {
    type With<First> = Self;
}

/// The layout of a kernel without shared memory.
pub struct NoShared;

// SAFETY: no fields, no bytes.
unsafe impl Layout for NoShared {
    const BYTES: u32 = 0;
    const COLUMNS: u32 = 0;
    type Parts<'k> = ();
    type Closed<'k> = ();
    unsafe fn init(_: Addr<SharedCta>, _: u32) {}
    unsafe fn parts<'k>(_: Addr<SharedCta>, _: u32) -> Self::Parts<'k> {}
}

/// The place of field `index` among fields of the given (bytes, alignment); `fields.len()` gives the size of
/// the whole.
pub const fn offset_of(fields: &[(u32, u32)], index: usize) -> u32 {
    let mut at = 0;
    let mut i = 0;
    while i < fields.len() {
        at = fields_align(at, fields[i].1);
        if i == index {
            return at;
        }
        // Here, not by the build's overflow checks: a release build of the device has none in functions.
        at = match at.checked_add(fields[i].0) {
            Some(next) => next,
            None => panic!(
                "the layout's fields together are larger than an address of shared memory can say"
            ),
        };
        require(
            at <= u32::MAX - 1024,
            "the layout's fields together are larger than an address of shared memory can say",
        );
        i += 1;
    }
    at
}

const fn fields_align(at: u32, align: u32) -> u32 {
    require(align.is_power_of_two(), "a field's alignment is a power of two");
    // Dynamic shared memory itself is aligned to this.
    require(align <= 1024, "a field's alignment is at most 1024");
    at.next_multiple_of(align)
}

/// Columns on whose multiples the tensor memory of a field begins.
const TENSOR_ALIGN: u32 = 32;

/// The first column of field `index` among fields of so many; `fields.len()` gives the columns of the whole.
pub const fn column_of(fields: &[u32], index: usize) -> u32 {
    let mut at: u32 = 0;
    let mut i = 0;
    while i < index {
        at = match at.checked_add(fields[i].next_multiple_of(TENSOR_ALIGN)) {
            Some(next) if next <= TENSOR_COLUMNS => next,
            _ => panic!(
                "rule D9: the layout's fields together need more than the 512 columns of tensor memory that an SM has, and its one allocation \
                 cannot grow: the claim gives up the permit: take fewer accumulators, or narrower ones (PTX ISA 9.7.16.7.1)"
            ),
        };
        i += 1;
    }
    at
}

/// The columns of all fields, each with its own and whether they are those of a pair.
pub const fn columns_of_all(fields: &[(u32, bool)], columns: &[u32]) -> u32 {
    let mut found = false;
    let mut paired = false;
    let mut i = 0;
    while i < fields.len() {
        let (columns, pair) = fields[i];
        if columns != 0 {
            require(
                !found || paired == pair,
                "rule D10: a kernel uses one `cta_group`, and the layout has tensor memory of a single CTA (`cta_group::1`) and \
                 of a pair (`cta_group::2`): leave one of the fields out",
            );
            found = true;
            paired = pair;
        }
        i += 1;
    }
    column_of(columns, columns.len())
}

/// The size of the cluster that the fields span: each has its number of CTAs, and whether it arrives on the cluster's barrier.
pub const fn cluster_of(fields: &[(u32, bool)]) -> u32 {
    let mut found = 0;
    let mut arrives = false;
    let mut i = 0;
    while i < fields.len() {
        let (ctas, arrives_too) = fields[i];
        if ctas != 0 {
            require(
                found == 0 || found == ctas,
                "rule F3: the fields of the layout span clusters of different numbers of CTAs, and a kernel is launched in \
                 clusters of one number: give all fields the same",
            );
            found = ctas;
        }
        require(
            !(arrives && arrives_too),
            "rule F2: a cluster has one barrier, whose arrivals and waits take turns; so one field of the layout is an exchange \
             between peers: leave one of them out, or exchange through a `Relay`",
        );
        arrives |= arrives_too;
        i += 1;
    }
    found
}

/// CTAs of the clusters whose work the one field that asks asks for; 0 if none does.
pub const fn one_field_that_asks(fields: &[u32]) -> u32 {
    let mut asks = 0;
    let mut i = 0;
    while i < fields.len() {
        require(
            asks == 0 || fields[i] == 0,
            "rule F8: a request for another cluster's work behind one that was seen to fail is undefined, and of two takeovers \
             each would see \
             its own failures; so one field of the layout asks: declare one takeover with as many followers as sets of threads need its answers",
        );
        asks += fields[i];
        i += 1;
    }
    asks
}

/// Columns that `tcgen05.alloc` takes for `needed` columns: a power of two, 32 to 512.
pub(crate) const fn allocated_columns(needed: u32) -> u32 {
    if needed == 0 {
        0
    } else if needed < 32 {
        32
    } else {
        needed.next_power_of_two()
    }
}

/// Bytes of an mbarrier.
const MBARRIER: u32 = 8;

/// Where the mbarrier lies at which the CTAs of a cluster meet before they exit, if a field uses the cluster's own barrier for
/// something else.
pub(crate) const fn exit_barrier<L: Layout>() -> u32 {
    L::BYTES.next_multiple_of(MBARRIER)
}

/// Bytes of the fields and of that barrier.
const fn shared_bytes<L: Layout>() -> u32 {
    if L::ARRIVES_ON_CLUSTER { exit_barrier::<L>() + MBARRIER } else { L::BYTES }
}

/// Bytes behind those in which `tcgen05.alloc` leaves the address.
const fn address_slot<L: Layout>() -> u32 {
    shared_bytes::<L>().next_multiple_of(4)
}

/// Bytes of dynamic shared memory that a kernel with layout `L` is launched with.
#[doc(hidden)]
pub const fn launch_bytes<L: Layout>() -> u32 {
    if L::COLUMNS == 0 { shared_bytes::<L>() } else { address_slot::<L>() + 4 }
}

/// Allocates tensor memory, for good.
///
/// # Safety
/// 1. One whole warp of each CTA of the group calls this, once.
/// 2. `slot` is 4 bytes of shared memory that nobody touches before a barrier.
#[inline(always)]
unsafe fn allocate<G: ptx::tcgen05::CtaGroup>(slot: Addr<SharedCta>, columns: u32) {
    // SAFETY: the caller's promises.
    unsafe { ptx::tcgen05::alloc::<G>(slot, columns) };
    // SAFETY: as above; nothing is allocated behind it.
    unsafe { ptx::tcgen05::relinquish_alloc_permit::<G>() };
}

/// Gives the tensor memory of the layout back.
///
/// # PTX
/// `tcgen05.fence::after_thread_sync`, `ld.weak.shared::cta.b32`, then `tcgen05.dealloc.sync.aligned.b32` by the first warp (ISA 9.7.16.7.1).
///
/// # Safety
/// 1. All threads of the CTA are here, behind a barrier of the CTA, or of both of the pair.
/// 2. Nothing works on tensor memory, nor will.
#[inline(always)]
pub(crate) unsafe fn deallocate<L: Layout>() {
    ptx::tcgen05::fence_after_thread_sync();
    if ptx::sreg::tid_x() / WARP == 0 {
        let slot = ptx::shared::dynamic_shared().offset(const { address_slot::<L>() });
        let columns = const { allocated_columns(L::COLUMNS) };
        // SAFETY: one whole warp, the one that allocated (I1, I2); the address is the one that the claim left in the layout's own slot (I6, I7).
        unsafe {
            let address = Addr::from_raw(ptx::ld::ld_weak(slot));
            if L::PAIR {
                ptx::tcgen05::dealloc::<ptx::tcgen05::Group2>(address, columns);
            } else {
                ptx::tcgen05::dealloc::<ptx::tcgen05::Group1>(address, columns);
            }
        }
    }
}

/// Initialises what the layout declares and hands out the parts.
///
/// # Safety
/// 1. All threads of the CTA are here, converged, once for the run of the kernel.
/// 2. The kernel was launched with [`launch_bytes`] bytes of dynamic shared memory.
#[inline(always)]
pub(crate) unsafe fn prepare<'k, L: Layout, const THREADS: u32>(
    cta: &mut Cta<'k, crate::layout::Claimed<L>, THREADS>,
) -> L::Parts<'k> {
    const {
        let _ = L::ASKS;
    }
    if L::BYTES == 0 && L::COLUMNS == 0 {
        // SAFETY: no field to initialise, and the caller comes once (I6).
        return unsafe { L::parts(Addr::from_raw(0), 0) };
    }
    let base = ptx::shared::dynamic_shared();
    let columns = const { allocated_columns(L::COLUMNS) };
    let slot = base.offset(const { address_slot::<L>() });
    let threads = THREADS;
    cta.lead(|| {
        // SAFETY: one thread, before the barrier below; nobody has touched the memory yet, since no part of it exists (I6).
        unsafe { L::init(base, threads) };
        if L::ARRIVES_ON_CLUSTER {
            // SAFETY: as above, in the place behind the fields, which the launch has too (I7): each CTA of the cluster arrives once,
            // at its exit (I11).
            unsafe {
                ptx::mbarrier::init(base.offset(const { exit_barrier::<L>() }), L::CLUSTER);
            }
        }
        if L::REMOTE_BARRIERS || L::ARRIVES_ON_CLUSTER {
            ptx::fence::fence_mbarrier_init_release_cluster();
        }
    });
    if L::PAIR {
        // Both CTAs take part in the allocation, so each has to know that the other has started (rule D13).
        // SAFETY: all threads of both CTAs are here (I2, I22); it is the first use of the cluster's barrier.
        unsafe { crate::cluster::whole_barrier() };
    }
    if columns != 0 && cta.rank() / WARP == 0 {
        // SAFETY: one whole warp of the CTA (of both, for a pair) allocates, once (I1, I6), and gives up the permit (rule D9); the
        // address is read behind the barrier below (rule D8).
        unsafe {
            if L::PAIR {
                allocate::<ptx::tcgen05::Group2>(slot, columns);
            } else {
                allocate::<ptx::tcgen05::Group1>(slot, columns);
            }
        }
    }
    if columns != 0 {
        // The pair of fences around the barrier orders the allocation before every thread's use of tensor memory.
        ptx::tcgen05::fence_before_thread_sync();
    }
    if L::CLUSTER == 0 {
        cta.barrier();
    } else {
        // Peers reach this CTA's memory: all have started, and initialised theirs (rules C1, F3).
        // SAFETY: all threads of every CTA of the cluster are here (I2, I22), with no arrival that they have not waited for.
        unsafe { crate::cluster::whole_barrier() };
    }
    let mut tensor = 0;
    if columns != 0 {
        ptx::tcgen05::fence_after_thread_sync();
        // SAFETY: the address was written before the barrier (I6); the slot is this layout's own (I7).
        tensor = unsafe { ptx::ld::ld_weak(slot) };
    }
    // SAFETY: the barrier has made the initialisation visible to every thread, the fence to the async proxy and to peers (I6).
    unsafe { L::parts(base, tensor) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_each_other_on_their_alignment() {
        let fields = [(48, 16), (4096, 1024), (8, 8)];
        assert_eq!(offset_of(&fields, 0), 0);
        assert_eq!(offset_of(&fields, 1), 1024);
        assert_eq!(offset_of(&fields, 2), 5120);
        assert_eq!(offset_of(&fields, 3), 5128);
    }

    #[test]
    fn columns_follow_each_other_on_theirs() {
        assert_eq!(column_of(&[0, 48, 0, 128], 1), 0);
        assert_eq!(column_of(&[0, 48, 0, 128], 3), 64);
        assert_eq!(column_of(&[0, 48, 0, 128], 4), 192);
    }

    #[test]
    fn columns_are_a_power_of_two() {
        assert_eq!(allocated_columns(0), 0);
        assert_eq!(allocated_columns(8), 32);
        assert_eq!(allocated_columns(96), 128);
        assert_eq!(allocated_columns(512), 512);
    }
}
