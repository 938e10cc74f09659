//! What a parameter is, in numbers that both builds of a kernel make of its type.
//!
//! A kernel crate is compiled for the host and for the device, and a type that asks its target (`#[cfg(target_arch = …)]`)
//! can be one here and another there. So the entry writes what it reads into the PTX, the host's call carries what was
//! passed, and a launch compares (rule G6). What is compared is what the two sides rely on of each other: whether the
//! memory is lent by `&` or by `&mut`, what its elements are, which box a tensor map has, which protocol's words were
//! zeroed, and whether grids before this one may still write. Two types of one signature are passed in the same way and
//! may be mistaken for each other without harm: who owns elements, and at which scope CTAs meet, the device's half decides alone.

use crate::tile::{BulkTile, ElementType};

/// The kinds of parameters.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Kind {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    Usize,
    Isize,
    F32,
    F64,
    ReadOnly,
    GlobalPtr,
    TensorMap,
    SpinLock,
    Dekker,
    TicketLock,
    RwLock,
    Semaphore,
    Once,
    LastArrival,
    SeqLock,
    Queue,
    Mailbox,
    GridExchange,
}

/// What the two sides of a launch rely on of a parameter's type. Equal only if all of that is: nothing is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// From the lowest byte: kind, element, whether a tensor map stores, whether it is behind the grids before.
    kind: u32,
    /// Rows and columns of a tensor map's tile.
    tile: [u32; 2],
}

impl Signature {
    /// A number.
    pub(crate) const fn number(kind: Kind) -> Self {
        Self { kind: kind as u32, tile: [0; 2] }
    }

    /// An array of such elements, or a protocol that guards one.
    pub(crate) const fn array(kind: Kind, element: ElementType) -> Self {
        // 0 is a parameter without elements.
        Self { kind: kind as u32 | (element as u32 + 1) << 8, tile: [0; 2] }
    }

    /// A tensor map.
    pub(crate) const fn map<T: BulkTile>(element: ElementType, stores: bool) -> Self {
        // The swizzle is the same for all tiles, and the panels follow from element and columns.
        let array = Self::array(Kind::TensorMap, element);
        Self { kind: array.kind | (stores as u32) << 16, tile: [T::ROWS, T::COLS] }
    }

    /// The same, behind the grids before this one.
    pub(crate) const fn dependent(self) -> Self {
        Self { kind: self.kind | 1 << 24, ..self }
    }

    /// All of it, and the parameter's name: what stands in the PTX.
    pub(crate) const fn named(self, name: &str) -> [u64; 3] {
        // Each part in bits of its own, so that equal numbers are equal signatures (I27).
        [self.kind as u64, (self.tile[0] as u64) << 32 | self.tile[1] as u64, hash(name)]
    }
}

/// FNV-1a. Two names of one hash only hide that parameters of one type changed places, which breaks no rule.
const fn hash(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use crate::global::{GlobalPtr, Load, ReadOnly, ReceiveParam, Store, TensorMap};
    use crate::previous::Dependent;
    use crate::protocol::{Mailbox, SpinLock};
    use crate::tile::Tile;

    #[test]
    fn what_a_launch_relies_on_tells_signatures_apart() {
        let all = [
            u32::SIGNATURE,
            f32::SIGNATURE,
            u64::SIGNATURE,
            usize::SIGNATURE,
            <ReadOnly<u32>>::SIGNATURE,
            <GlobalPtr<u32>>::SIGNATURE,
            <GlobalPtr<f32>>::SIGNATURE,
            <GlobalPtr<u64>>::SIGNATURE,
            <Dependent<ReadOnly<u32>>>::SIGNATURE,
            <Dependent<GlobalPtr<u32>>>::SIGNATURE,
            <SpinLock<u32>>::SIGNATURE,
            <Mailbox<u32, 0, 1>>::SIGNATURE,
            <TensorMap<Tile<f32, 64, 32>, Load>>::SIGNATURE,
            <TensorMap<Tile<f32, 64, 32>, Store>>::SIGNATURE,
            <TensorMap<Tile<u32, 64, 32>, Load>>::SIGNATURE,
            // The bytes of the first, in another box.
            <TensorMap<Tile<f32, 32, 64>, Load>>::SIGNATURE,
        ];
        for (i, one) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate() {
                assert_eq!(one == other, i == j, "{i} and {j}");
                assert_eq!(one.named("x") == other.named("x"), i == j, "{i} and {j}");
            }
            assert_ne!(one.named("x"), one.named("y"));
        }
    }
}
