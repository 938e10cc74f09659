//! A tensor map that a kernel edits: the next matrix of a group without the host.
//!
//! [`EditedMap`] is a tensor map of the tile `T` in global memory, one for each CTA, in the hands of the thread that issues the
//! bulk loads through it. It begins as a copy of a map that the host encoded, and is pointed at one matrix after the other:
//!
//! ```text
//!   MapEdited ──fence_release──▶ MapReleased ──fence_acquire──▶ MapReady ──load──▶ MapInUse<ring> ──┐load
//!      ▲ └point_at┘                                                ▲  ▲                │  └─────────┘
//!      └────────────────────────point_at───────────────────────────┘  └───wait_loads───┘
//! ```
//!
//! # Why it is ordered
//! Copies read the map through a proxy of its own. `fence.proxy.tensormap::generic` orders what this thread wrote with
//! ordinary stores before what that proxy reads: a release behind the edit, an acquire before the use (rule B4, ISA 8.6). A
//! copy reads the map at any moment until it has completed, so the map is edited only when every load through it has: all of
//! them went into one ring, whose phases the ring's producing end observes (rule B5).
//!
//! ```
//! use baton::edited_map::EditedMap;
//! use baton::global::TheMaps;
//! use baton::prelude::*;
//!
//! type A = Tile<bf16, 64, 64>;
//!
//! baton::shared! {
//!     pub struct Smem in smem { ab: Stages<2, A, ByBulk, ByThreads> }
//! }
//!
//! /// Loads the first tile of each of `count` matrices of 64 × 64 that follow each other in `matrices`.
//! #[baton::kernel(threads = 64)]
//! fn firsts(
//!     cta: Cta<'_, Smem, 64>,
//!     template: TensorMap<A>,
//!     places: GlobalPtr<u64, TheMaps>,
//!     matrices: ReadOnly<bf16>,
//!     count: u32,
//! ) -> Exit<'_> {
//!     let (cta, smem::Parts { ab, .. }) = cta.claim();
//!     let (mut loads, mut stages) = ab.split();
//!     let (joined, (loaded, ())) = cta.roles((
//!         warp(move |w| {
//!             w.elect(move |mut t| {
//!                 let mut map = EditedMap::open(&mut t, places, template);
//!                 for i in 0..count {
//!                     let ready = map
//!                         .point_at(&mut t, matrices, i as u64 * 4096, 64, 64)
//!                         .fence_release(&mut t)
//!                         .fence_acquire(&mut t);
//!                     let stage = loads.acquire(&mut t);
//!                     let used = ready.load(&mut t, stage, 0, 0);
//!                     map = used.wait_loads(&mut t, &mut loads).editable();
//!                 }
//!                 loads.finish(&mut t)
//!             })
//!         }),
//!         warp(move |mut w| {
//!             for _ in 0..count {
//!                 let stage = stages.wait(&mut w);
//!                 baton::assert!(stage.get(0) == stage.get(0));
//!                 stage.fence_proxy_async(&mut w).release(&mut w);
//!             }
//!         }),
//!     ));
//!     joined.exit((loaded,))
//! }
//! # fn main() {}
//! ```

use core::marker::PhantomData;

use crate::global::{GlobalPtr, ReadOnly, TensorMap, TheMaps, TileAt};
use crate::path::{
    ByBulk, EditsReleased, LoadsInto, MapEditable, MapEdited, MapInUse, MapReady, MapReleased,
    MapVisibleToCopies, Writable,
};
use crate::ptx;
use crate::ptx::addr::{Addr, Generic, Global};
use crate::ptx::sreg;
use crate::scope::Gpu;
use crate::shared_access::check;
use crate::stages::{Fills, Producer, Ring, Slot};
use crate::tile::BulkTile;
use crate::token::{Brand, Marks, SameSet, Set, SingleThread, StaysWithItsThreads};

/// Words of 64 bits that a tensor map has.
const WORDS: u64 = 16;

/// A tensor map of the tile `T` in global memory, held by the thread `S`, in a state of [`crate::path`].
pub struct EditedMap<'k, T, S, State> {
    map: u64,
    brand: Brand<'k>,
    types: Marks<(T, S, State)>,
    stays: StaysWithItsThreads,
}

impl<'k, T: BulkTile, S: Set> EditedMap<'k, T, S, MapEdited> {
    /// Makes a map of this CTA's own in `places`, a copy of `template`. Traps when `places` has not 16 words for each CTA of the
    /// grid, or does not begin on a boundary of 128 bytes.
    #[inline(always)]
    pub fn open(
        thread: &mut S,
        places: GlobalPtr<u64, TheMaps>, // B5: the array is one thread's, and nothing but maps lies in it
        template: TensorMap<T>,
    ) -> Self
    where
        S: SingleThread,
    {
        let _ = thread;
        ptx::mark::opened_maps::<S>(places.address().raw());
        let [x, y, z] = [sreg::ctaid_x(), sreg::ctaid_y(), sreg::ctaid_z()].map(u64::from);
        let [nx, ny] = [sreg::nctaid_x(), sreg::nctaid_y()].map(u64::from);
        let cta = x + nx * (y + ny * z);
        check(places.len() / WORDS > cta && places.address().raw() % 128 == 0);
        let map = places.address().raw() + cta * 8 * WORDS;
        let mut word = 0;
        while word < WORDS {
            let from = (template.address().raw() + 8 * word) as *const u64;
            // SAFETY: the template's 128 bytes, which nobody writes (I24).
            let bits = unsafe { from.read() };
            let to: Addr<Global> = Addr::from_raw(map + 8 * word);
            // SAFETY: the place is this thread's alone (I16): the array was consumed, its type says that it
            // holds maps in every CTA (I23), and each CTA has its own words.
            unsafe { ptx::st::st_weak(to, bits) };
            word += 1;
        }
        EditedMap::new(map)
    }
}

impl<'k, T: BulkTile, S: Set, State> EditedMap<'k, T, S, State> {
    #[inline(always)]
    fn new(map: u64) -> Self {
        EditedMap { map, brand: PhantomData, types: PhantomData, stays: PhantomData }
    }

    #[inline(always)]
    fn become_state<Next>(self) -> EditedMap<'k, T, S, Next> {
        EditedMap::new(self.map)
    }

    #[inline(always)]
    fn home(&self) -> Addr<Global> {
        Addr::from_raw(self.map)
    }

    #[inline(always)]
    fn generic(&self) -> Addr<Generic> {
        // SAFETY: the map lies in global memory, where the host lent a place for it (I24).
        unsafe { ptx::shared::cvta(self.home()) }
    }

    /// Points the map at the matrix of `rows` × `cols` elements that begins at element `first` of `array`, row after row.
    /// Traps when it is not all in the array, or not on boundaries of 16 bytes.
    ///
    /// # PTX
    /// `tensormap.replace.tile` of `.global_address`, `.global_dim` and `.global_stride`, PTX 8.3, sm_90a (ISA
    /// *tensormap.replace*).
    #[inline(always)]
    pub fn point_at<U, W>(
        self, // B5: an edited map is not used before its fences; go on with the one that this returns
        thread: &mut U,
        array: ReadOnly<T::Element, W>,
        first: u64,
        rows: u32,
        cols: u32,
    ) -> EditedMap<'k, T, S, MapEdited>
    where
        U: SameSet<S> + SingleThread,
        State: MapEditable,
    {
        let _ = thread;
        let size = size_of::<T::Element>() as u64;
        let row = cols as u64 * size;
        check(rows > 0 && cols > 0 && row % 16 == 0);
        let begin = array.matrix(first, rows, cols);
        check(begin % 16 == 0);
        let map = self.home();
        // SAFETY: this thread's own map (I13), which no copy uses, by the state (I14, I15, I18); it stays legal: the matrix is in the
        // array, which the host lent (I24), on boundaries of 16 bytes, and the tile's element type, box and swizzle are as the host
        // encoded them.
        unsafe {
            ptx::tensormap::replace_global_address(map, begin);
            ptx::tensormap::replace_global_dim::<_, 0>(map, cols);
            ptx::tensormap::replace_global_dim::<_, 1>(map, rows);
            ptx::tensormap::replace_global_stride::<_, 0>(map, row);
        }
        self.become_state()
    }

    /// Releases the edits towards the proxy that reads tensor maps.
    ///
    /// # PTX
    /// `fence.proxy.tensormap::generic.release.gpu`, PTX 8.3, sm_90 (ISA *membar/fence*, 8.6).
    #[inline(always)]
    pub fn fence_release<U>(
        self, // B4: the edits are released; go on with the map that this returns
        thread: &mut U,
    ) -> EditedMap<'k, T, S, MapReleased>
    where
        U: SameSet<S>,
        State: MapEditable,
    {
        let _ = thread;
        ptx::fence::fence_proxy_tensormap_generic_release::<Gpu>();
        self.become_state()
    }

    /// Acquires them there, before the first copy.
    ///
    /// # PTX
    /// `fence.proxy.tensormap::generic.acquire.gpu [map], 128`, PTX 8.3, sm_90 (ISA *membar/fence*, 8.6).
    #[inline(always)]
    pub fn fence_acquire<U>(
        self, // B4: the map may be used; go on with the one that this returns
        thread: &mut U,
    ) -> EditedMap<'k, T, S, MapReady>
    where
        U: SameSet<S>,
        State: EditsReleased,
    {
        let _ = thread;
        // SAFETY: a tensor map in global memory, whose edits were released, by the state (I14, I17).
        unsafe { ptx::fence::fence_proxy_tensormap_generic_acquire::<Gpu>(self.generic()) };
        self.become_state()
    }

    /// Begins the bulk copies of the tile at (`row`, `col`) into a stage. All loads of a map go into one ring.
    ///
    /// # PTX
    /// As [`Slot::load`].
    #[inline(always)]
    pub fn load<U, Tag, R, RS, SlotState>(
        self, // B5: the map is the copies' until `wait_loads`; go on with the one that this returns
        thread: &mut U,
        stage: Slot<'k, Tag, R, RS, SlotState>,
        row: i32,
        col: i32,
    ) -> EditedMap<'k, T, S, MapInUse<Tag>>
    where
        U: SameSet<S> + SameSet<RS> + SingleThread,
        State: MapVisibleToCopies + LoadsInto<Tag>,
        R: Ring<Fill = ByBulk, Data = T>,
        RS: Set,
        SlotState: Writable,
        TileAt<T>: Fills<T>,
        T: crate::tile::StageData,
    {
        stage.load(thread, TileAt::through(self.generic().raw(), row, col));
        self.become_state()
    }
}

impl<'k, T: BulkTile, S: Set, Tag> EditedMap<'k, T, S, MapInUse<Tag>> {
    /// Waits until every load into the ring has landed, those through this map included.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.acquire.cta` on the full barrier of each stage.
    #[inline(always)]
    pub fn wait_loads<U, R, RS, const N: u32>(
        self, // B5: no load uses the map; go on with the one that this returns
        thread: &mut U,
        loads: &mut Producer<'k, Tag, R, RS, N>,
    ) -> EditedMap<'k, T, S, MapReady>
    where
        U: SameSet<S> + SameSet<RS> + SingleThread,
        R: Ring<Fill = ByBulk>,
        RS: Set,
    {
        let _ = thread;
        loads.wait_fills();
        self.become_state()
    }
}

impl<'k, T: BulkTile, S: Set> EditedMap<'k, T, S, MapReady> {
    /// The map as one that was just edited, for loops that begin with an edit.
    #[inline(always)]
    pub fn editable(
        self, // B5: go on with the map that this returns
    ) -> EditedMap<'k, T, S, MapEdited> {
        self.become_state()
    }
}
