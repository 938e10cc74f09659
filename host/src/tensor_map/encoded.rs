//! Maps that an encoder has made: as parameters, and in the memory of a device.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use baton::global::Load;
use baton::launch::{DeviceSlice, EncodedTensorMap, Owner, TensorMap, Touched};
use baton::tile::BulkTile;

use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::Error;
use crate::memory::{Allocation, Resource};
use crate::reservation::Access;

/// The buffer of a tensor, as long as it is lent.
pub(super) struct Lent<'a> {
    pub allocation: Arc<Allocation>,
    pub owner: &'a dyn Owner,
    pub access: Access,
}

/// A tensor map that the device's encoder made, for accesses of the kind `A` while the buffer is borrowed.
///
/// | a kernel that takes | gets |
/// |---|---|
/// | a `TensorMap` of a tile type | [`Buffer::tensor_map`] at once, or [`assume_tile`](Self::assume_tile) for what has more than two dimensions |
/// | the same, on a stream | [`read_tiles`](crate::read_tiles), or [`assume_tiles`](Self::assume_tiles) |
/// | an address of a map, for the instructions themselves (`baton::ptx::tensor`) | [`store`](Self::store) |
pub struct EncodedMap<'a, A = Load> {
    tensor: Lent<'a>,
    encoded: EncodedTensorMap,
    bytes: u64,
    kind: PhantomData<fn() -> A>,
}

impl<'a, A> EncodedMap<'a, A> {
    /// `tensor` is lent to the result as its access demands.
    pub(super) fn new(tensor: Lent<'a>, encoded: EncodedTensorMap, bytes: u64) -> Self {
        Self { tensor, encoded, bytes, kind: PhantomData }
    }

    fn device(&self) -> &Device {
        self.tensor.allocation.device()
    }

    /// The 128 bytes.
    pub fn words(&self) -> &[u64; 16] {
        &self.encoded.0
    }

    /// Bytes that one copy moves, and that it counts on its mbarrier, whatever part lies outside the tensor.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl<'a, A> EncodedMap<'a, A> {
    /// The map as a kernel's parameter.
    ///
    /// # Safety
    /// Rank, element type, box and swizzle are those of `Tile`: what the device library loads or stores for one of its
    /// panels is one box.
    pub unsafe fn assume_tile<Tile: BulkTile>(self) -> TensorMap<'a, Tile, A> {
        // SAFETY: (1) this device's encoder has encoded it, the rest is the caller's promise; (2) the tensor lies in the
        // buffer, which is borrowed as the access demands.
        let map = unsafe { TensorMap::from_encoded(self.device().id(), self.encoded) };
        let Lent { owner, access, .. } = self.tensor;
        // SAFETY: the buffer's allocation is all that the tensor is a part of.
        unsafe { map.owned_by(owner, access.writes()) }
    }

    /// The map as an argument of a launch on a stream, which waits for those that use the buffer.
    ///
    /// # Safety
    /// As for [`assume_tile`](Self::assume_tile).
    pub unsafe fn assume_tiles<Tile: BulkTile>(self) -> Tiles<'a, Tile, A> {
        // SAFETY: the caller's promise.
        Tiles(unsafe { self.assume_tile() })
    }

    /// The map in the memory of its device, where an instruction's address finds it: its 16 words, aligned to 128 bytes.
    ///
    /// # Errors
    /// [`Error::Driver`] if no memory is left.
    pub fn store(self) -> Result<StoredMap<'a, A>, Error> {
        let words = Buffer::from_slice(self.device(), self.words())?;
        Ok(StoredMap { words, map: self })
    }
}

impl<A> fmt::Debug for EncodedMap<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncodedMap")
            .field("access", &self.tensor.access)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// A matrix or tensor whose tiles a kernel on a stream loads (`A` is [`Load`]) or stores. Made by
/// [`read_tiles`](crate::read_tiles), [`write_tiles`](crate::write_tiles) and [`EncodedMap::assume_tiles`].
pub struct Tiles<'a, Tile, A>(pub(crate) TensorMap<'a, Tile, A>);

/// A tensor map in the memory of its device. Made by [`EncodedMap::store`].
///
/// `&stored` is an argument of a launch on a stream where the kernel takes words that it reads: the launch waits for those
/// that use the tensor, not only for the map.
#[derive(Debug)]
pub struct StoredMap<'a, A = Load> {
    words: Buffer<u64>,
    map: EncodedMap<'a, A>,
}

impl<A> StoredMap<'_, A> {
    /// The words of the map as an argument for [`Device::launch`](crate::Device::launch).
    pub fn as_arg(&self) -> DeviceSlice<'_, u64> {
        // SAFETY: the words are the buffer's, and the tensor is what the map has borrowed.
        unsafe { self.words.as_arg().owned_by(self) }
    }

    /// Bytes that one copy moves.
    pub fn bytes(&self) -> u64 {
        self.map.bytes
    }
}

/// A kernel that gets the address of the map touches the words and the tensor.
impl<A> Owner for StoredMap<'_, A> {
    fn touch(&self, writes: bool, touched: &mut Touched) {
        self.words.owner().touch(writes, touched);
        let tensor: Arc<Allocation> = Arc::clone(&self.map.tensor.allocation);
        touched.push(tensor, self.map.tensor.access.writes());
    }
}
