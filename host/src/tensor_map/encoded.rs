//! Maps that an encoder has made: as parameters, and in the memory of a device.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use baton::global::Load;
use baton::launch::{DeviceSlice, EncodedTensorMap, TensorMap};
use baton::tile::BulkTile;

use crate::memory::Allocation;
use crate::reservation::Access;
use crate::{Buffer, Device, Error};

/// A tensor map that the device's encoder made, for accesses of the kind `A` while the buffer is borrowed.
///
/// | a kernel that takes | gets |
/// |---|---|
/// | a `TensorMap` of a tile type | [`Buffer::tensor_map`] at once, or [`assume_tile`](Self::assume_tile) for what has more than two dimensions |
/// | the same, on a stream | [`read_tiles`](crate::read_tiles), or [`assume_tiles`](Self::assume_tiles) |
/// | an address of a map, for the instructions themselves (`baton::ptx::tensor`) | [`store`](Self::store) |
pub struct EncodedMap<'a, A = Load> {
    tensor: Arc<Allocation>,
    access: Access,
    encoded: EncodedTensorMap,
    bytes: u64,
    borrow: PhantomData<&'a ()>,
    kind: PhantomData<fn() -> A>,
}

impl<A> EncodedMap<'_, A> {
    /// `tensor` is lent to the result as `access` demands.
    pub(super) fn new(
        tensor: Arc<Allocation>,
        access: Access,
        encoded: EncodedTensorMap,
        bytes: u64,
    ) -> Self {
        Self { tensor, access, encoded, bytes, borrow: PhantomData, kind: PhantomData }
    }

    fn device(&self) -> &Device {
        crate::memory::Resource::device(&*self.tensor)
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
        unsafe { TensorMap::from_encoded(self.device().id(), self.encoded) }
    }

    /// The map as an argument of a launch on a stream, which waits for those that use the buffer.
    ///
    /// # Safety
    /// As for [`assume_tile`](Self::assume_tile).
    pub unsafe fn assume_tiles<Tile: BulkTile>(self) -> Tiles<'a, Tile, A> {
        let (tensor, access) = (Arc::clone(&self.tensor), self.access);
        // SAFETY: the caller's promise.
        Tiles { tensor, access, map: unsafe { self.assume_tile() } }
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
            .field("access", &self.access)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// A matrix or tensor whose tiles a kernel on a stream loads (`A` is [`Load`]) or stores. Made by
/// [`read_tiles`](crate::read_tiles), [`write_tiles`](crate::write_tiles) and [`EncodedMap::assume_tiles`].
pub struct Tiles<'a, Tile, A> {
    pub(crate) tensor: Arc<Allocation>,
    pub(crate) access: Access,
    pub(crate) map: TensorMap<'a, Tile, A>,
}

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
        self.words.as_arg()
    }

    /// Bytes that one copy moves.
    pub fn bytes(&self) -> u64 {
        self.map.bytes
    }

    /// What a kernel touches that gets the map, and how.
    pub(crate) fn touches(&self) -> [(Arc<Allocation>, Access); 2] {
        [
            (Arc::clone(&self.words.allocation), Access::Read),
            (Arc::clone(&self.map.tensor), self.map.access),
        ]
    }
}
