//! Swizzles: permutations of shared memory that spread a column over the banks.
//!
//! A swizzle XORs some bits of an address into lower bits of the same address. It acts on absolute
//! shared-memory addresses, which is why one tile can be read at any 16-byte chunk inside it: the
//! writer and the reader agree as long as both use the address.
//!
//! Where 8-byte halves are flipped in every other line, the first line of the pattern is taken to be one that is not, as it
//! is the one that every swizzle leaves alone; the text has that in a figure only.

/// How bulk tensor copies and matrix descriptors permute shared memory, with the driver's
/// enumerator values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Swizzle {
    /// No permutation.
    None = 0,
    /// 16-byte chunks inside 32 bytes.
    B32 = 1,
    /// 16-byte chunks inside 64 bytes.
    B64 = 2,
    /// 16-byte chunks inside 128 bytes.
    B128 = 3,
    /// 32-byte chunks inside 128 bytes.
    B128Atom32 = 4,
    /// 32-byte chunks inside 128 bytes, with 8-byte halves flipped in every other row.
    B128Atom32Flip8 = 5,
    /// 64-byte chunks inside 128 bytes.
    B128Atom64 = 6,
}

/// A swizzle as address arithmetic: `address ^ ((address >> shift) & mask)`, and the flip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// Bits of the address that change.
    pub mask: u32,
    /// How far above them the bits lie that change them.
    pub shift: u32,
    /// Bytes that stay together.
    pub atom: u32,
    /// In every other line of 128 bytes the halves of 16 bytes change places.
    pub flip: bool,
}

impl Pattern {
    /// What to XOR into an address whose place in the pattern is that of `address`.
    pub const fn toggle(self, address: u32) -> u32 {
        let flip = if self.flip { (address >> 4) & 8 } else { 0 };
        (address >> self.shift) & self.mask | flip
    }

    /// Where the byte with this unpermuted address lies.
    pub const fn permute(self, address: u32) -> u32 {
        address ^ self.toggle(address)
    }
}

impl Swizzle {
    /// Every swizzle.
    pub const ALL: [Swizzle; 7] = [
        Swizzle::None,
        Swizzle::B32,
        Swizzle::B64,
        Swizzle::B128,
        Swizzle::B128Atom32,
        Swizzle::B128Atom32Flip8,
        Swizzle::B128Atom64,
    ];

    /// Bytes within which the swizzle permutes; none for [`Swizzle::None`].
    pub const fn span(self) -> Option<u32> {
        match self {
            Swizzle::None => None,
            Swizzle::B32 => Some(32),
            Swizzle::B64 => Some(64),
            _ => Some(128),
        }
    }

    /// The address arithmetic.
    pub const fn pattern(self) -> Pattern {
        let (mask, shift, atom) = match self {
            Swizzle::None => (0, 0, 1 << 31),
            Swizzle::B32 => (0x10, 3, 16),
            Swizzle::B64 => (0x30, 3, 16),
            Swizzle::B128 => (0x70, 3, 16),
            Swizzle::B128Atom32 => (0x60, 2, 32),
            Swizzle::B128Atom32Flip8 => (0x60, 2, 8),
            Swizzle::B128Atom64 => (0x40, 1, 64),
        };
        Pattern { mask, shift, atom, flip: matches!(self, Swizzle::B128Atom32Flip8) }
    }
}
