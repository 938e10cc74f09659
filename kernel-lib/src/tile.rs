//! Tiles: what a stage, an operand or a staging buffer holds, as a type.
//!
//! Everything that a kernel author would otherwise keep in their head follows from the tile type: the box
//! of the tensor map, the bytes for `expect_tx`, the shared-memory descriptor of the tensor core, and the
//! place of each element under the swizzle. The host encodes tensor maps from the same type, so that the
//! two sides cannot disagree.
//!
//! A [`Tile`] is K-major (row-major) and cut into *panels* of 128 bytes by `ROWS`, each panel in the
//! 128-byte swizzle, which is how one bulk tensor copy delivers it and how `wgmma` and `tcgen05.mma` read
//! it. A [`Linear`] run of elements has no swizzle and is only reached by ordinary loads and stores.

use core::marker::PhantomData;

use crate::float::{bf16, e4m3, e5m2, f16};
use crate::ptx::addr::{Addr, SharedCta};
use crate::ptx::word::Word;
use crate::require;

/// Nothing that a stage or buffer holds is larger: above what any SM has, and far below where a 32-bit size wraps.
const MOST_BYTES: usize = 1 << 18;

/// Bytes of a panel's row: the span of the 128-byte swizzle.
pub const PANEL_ROW_BYTES: usize = 128;

/// A swizzle of shared memory, as the tensor map and the matrix descriptors know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swizzle {
    /// Rows follow each other as they are.
    None,
    /// 16-byte chunks of a 128-byte row are exchanged by the row's number modulo 8.
    B128,
}

mod sealed {
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not one of the library's kinds of stage",
        note = "rule D14: where the elements of a stage lie is what the hardware's descriptors say, and the library alone says that they do",
        note = "use `Tile`, `Linear`, `ToAll` or a pair of them"
    )]
    pub trait Sealed {}
}

/// A plain number that lies in device memory as an element of an array and has a name in tensor maps.
pub trait Element: Word {
    /// The name of the element type in tensor maps.
    const TYPE: ElementType;
}

/// Element types of tensor maps. To a copy a byte is a byte, whatever it means.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementType {
    U8,
    U16,
    U32,
    I32,
    U64,
    I64,
    F16,
    Bf16,
    F32,
    F64,
}

macro_rules! elements {
    ($($t:ty = $name:ident)*) => {$(
        impl Element for $t {
            const TYPE: ElementType = ElementType::$name;
        }
    )*};
}

elements! {
    u8 = U8 i8 = U8 e4m3 = U8 e5m2 = U8 u16 = U16 u32 = U32 i32 = I32 u64 = U64 i64 = I64 f32 = F32 f64 = F64 f16 = F16 bf16 = Bf16
}

/// A tile that one tensor map describes: `ROWS` rows of `COLS` elements, K-major.
///
/// # Layout
/// `COLS * size_of::<T>()` is a multiple of 128 bytes; panel `p` holds columns
/// `p * PANEL_COLS .. (p + 1) * PANEL_COLS`, `ROWS * 128` bytes, aligned to 1024. Illegal shapes are compile
/// errors (rule D14).
pub struct Tile<T, const ROWS: usize, const COLS: usize>(PhantomData<T>);

/// What a tensor map needs to know of a tile. Implemented by [`Tile`] alone.
pub trait BulkTile: 'static + sealed::Sealed {
    /// The element type.
    type Element: Element;
    /// Rows of the tile and of the tensor map's box.
    const ROWS: u32;
    /// Columns of the tile.
    const COLS: u32;
    /// Columns of one box: a panel.
    const PANEL_COLS: u32;
    /// Boxes that make the tile.
    const PANELS: u32;
    /// The swizzle of a panel.
    const SWIZZLE: Swizzle;
    /// Bytes of the whole tile: what `expect_tx` announces for it.
    const BYTES: u32;
}

impl<T, const ROWS: usize, const COLS: usize> sealed::Sealed for Tile<T, ROWS, COLS> {}

impl<T: Element, const ROWS: usize, const COLS: usize> Tile<T, ROWS, COLS> {
    const LEGAL: () = {
        require(
            ROWS >= 8 && ROWS <= 256 && ROWS % 8 == 0,
            "rule D14: a tile has 8 to 256 rows in steps of 8 (one box of a tensor map, whole swizzle atoms): round `ROWS`",
        );
        require(
            COLS > 0 && COLS <= MOST_BYTES && (COLS * size_of::<T>()) % PANEL_ROW_BYTES == 0,
            "rule D14: a tile's row is a multiple of 128 bytes, the span of its swizzle, and fits shared memory: choose `COLS` so",
        );
        require(
            ROWS * COLS * size_of::<T>() <= MOST_BYTES,
            "rule D14: a tile fits the shared memory of an SM: make it smaller",
        );
    };

    /// Byte offset of element (`row`, `col`) in the tile, swizzle included.
    #[inline(always)]
    pub const fn offset(row: u32, col: u32) -> u32 {
        let () = Self::LEGAL;
        let size = size_of::<T>() as u32;
        let panel_cols = PANEL_ROW_BYTES as u32 / size;
        let panel = col / panel_cols;
        let byte = (col % panel_cols) * size;
        panel * (ROWS as u32 * PANEL_ROW_BYTES as u32)
            + row * PANEL_ROW_BYTES as u32
            + (byte ^ ((row % 8) << 4))
    }

    /// Address of element (`row`, `col`) of the tile at `base`. The panel is added last: then places in other panels differ by a constant,
    /// which is part of an instruction.
    #[inline(always)]
    pub(crate) fn place(base: Addr<SharedCta>, row: u32, col: u32) -> Addr<SharedCta> {
        let panel_cols = const { (PANEL_ROW_BYTES / size_of::<T>()) as u32 };
        base.offset(Self::offset(row, col % panel_cols))
            .offset(Self::offset(0, col / panel_cols * panel_cols))
    }
}

impl<T: Element, const ROWS: usize, const COLS: usize> BulkTile for Tile<T, ROWS, COLS> {
    type Element = T;
    const ROWS: u32 = {
        let () = Self::LEGAL;
        ROWS as u32
    };
    const COLS: u32 = {
        let () = Self::LEGAL;
        COLS as u32
    };
    const PANEL_COLS: u32 = {
        let () = Self::LEGAL;
        (PANEL_ROW_BYTES / size_of::<T>()) as u32
    };
    const PANELS: u32 = Self::COLS / Self::PANEL_COLS;
    const SWIZZLE: Swizzle = Swizzle::B128;
    const BYTES: u32 = Self::ROWS * Self::COLS * size_of::<T>() as u32;
}

/// `N` elements one after the other, without swizzle; reached by ordinary loads and stores.
pub struct Linear<T, const N: usize>(PhantomData<T>);

impl<T, const N: usize> sealed::Sealed for Linear<T, N> {}

/// The tile `T` in each of the `CTAS` CTAs of a cluster, of which each CTA loads its share of the rows for all of them: what a
/// stage of a ring holds where CTAs multiply by the same tile.
///
/// A CTA loads through a tensor map of the share, `Tile<_, ROWS / CTAS, COLS>`.
pub struct ToAll<T, const CTAS: u32>(PhantomData<T>);

impl<T, const CTAS: u32> sealed::Sealed for ToAll<T, CTAS> {}

/// What a stage of a ring holds: a [`Tile`], also [`ToAll`], a [`Linear`] run, or a pair of tiles.
pub trait StageData: 'static + sealed::Sealed {
    /// Bytes in shared memory.
    const BYTES: u32;
    /// Alignment in shared memory.
    const ALIGN: u32;
    /// CTAs of the cluster that fill it together; 1 if each fills its own.
    const CTAS: u32 = 1;
}

/// Stage data whose elements ordinary loads and stores can address by one index.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no element order for ordinary loads and stores",
    note = "rule D14: threads reach a stage in the order of its elements: use a `Tile` or `Linear` as the stage's data where \
            threads read or write it"
)]
pub trait Elements: StageData {
    /// The element type.
    type Element: Element;
    /// Number of elements.
    const LEN: u32;
    /// Whether elements that share 16 bytes, counted from the first, lie together and on a 16-byte boundary.
    const CHUNKED: bool = true;
    /// Byte offset of element `index` (row-major in a tile).
    fn byte_offset(index: u32) -> u32;
}

impl<T: Element, const ROWS: usize, const COLS: usize> StageData for Tile<T, ROWS, COLS> {
    const BYTES: u32 = <Self as BulkTile>::BYTES;
    const ALIGN: u32 = 1024;
}

impl<T: Element, const ROWS: usize, const COLS: usize> Elements for Tile<T, ROWS, COLS> {
    type Element = T;
    const LEN: u32 = <Self as BulkTile>::ROWS * <Self as BulkTile>::COLS;
    #[inline(always)]
    fn byte_offset(index: u32) -> u32 {
        Self::offset(index / COLS as u32, index % COLS as u32)
    }
}

impl<T: Element, const N: usize> StageData for Linear<T, N> {
    const BYTES: u32 = {
        require(
            N > 0,
            "rule D14: a linear stage holds at least one element: write a length of 1 or more",
        );
        require(
            N <= MOST_BYTES / size_of::<T>(),
            "rule D14: a linear stage fits the shared memory of an SM: make it smaller",
        );
        (N * size_of::<T>()) as u32
    };
    const ALIGN: u32 = 16;
}

impl<T: Element, const N: usize> Elements for Linear<T, N> {
    type Element = T;
    const LEN: u32 = <Self as StageData>::BYTES / size_of::<T>() as u32;
    #[inline(always)]
    fn byte_offset(index: u32) -> u32 {
        index * size_of::<T>() as u32
    }
}

impl<T: BulkTile + StageData, const CTAS: u32> StageData for ToAll<T, CTAS> {
    const BYTES: u32 = <T as StageData>::BYTES;
    const ALIGN: u32 = T::ALIGN;
    const CTAS: u32 = {
        require(
            CTAS >= 2 && CTAS <= 16,
            "rule F3: a tile is loaded by 2 to 16 CTAs for all of them, more than 8 only where the device allows it: choose a \
             number of them",
        );
        require(
            <T as BulkTile>::ROWS % (8 * CTAS) == 0,
            "rule D14: each CTA loads whole groups of eight rows, the span of the swizzle, so the rows are a multiple of 8 times \
             the CTAs: round `ROWS`",
        );
        CTAS
    };
}

impl<T: BulkTile + Elements, const CTAS: u32> Elements for ToAll<T, CTAS> {
    type Element = <T as Elements>::Element;
    const LEN: u32 = T::LEN;
    #[inline(always)]
    fn byte_offset(index: u32) -> u32 {
        T::byte_offset(index)
    }
}

impl<A: StageData, B: StageData> sealed::Sealed for (A, B) {}

impl<A: StageData, B: StageData> StageData for (A, B) {
    const BYTES: u32 = A::BYTES.next_multiple_of(B::ALIGN) + B::BYTES;
    const ALIGN: u32 = if A::ALIGN > B::ALIGN { A::ALIGN } else { B::ALIGN };
    const CTAS: u32 = {
        require(
            A::CTAS == 1 || B::CTAS == 1 || A::CTAS == B::CTAS,
            "rule F3: both halves of a stage are filled by the CTAs of one cluster: give both the same number",
        );
        if A::CTAS > B::CTAS { A::CTAS } else { B::CTAS }
    };
}

/// The first half's elements, then the second's.
impl<A, B> Elements for (A, B)
where
    A: Elements,
    B: Elements<Element = A::Element>,
{
    type Element = A::Element;
    const LEN: u32 = A::LEN + B::LEN;
    const CHUNKED: bool =
        A::CHUNKED && B::CHUNKED && (A::LEN as usize * size_of::<A::Element>()) % 16 == 0;
    #[inline(always)]
    fn byte_offset(index: u32) -> u32 {
        if index < A::LEN {
            A::byte_offset(index)
        } else {
            A::BYTES.next_multiple_of(B::ALIGN) + B::byte_offset(index - A::LEN)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swizzle_exchanges_chunks_by_row_modulo_eight() {
        type T = Tile<bf16, 16, 128>;
        // Row 0 is as it is; row 1 exchanges neighbouring 16-byte chunks (8 elements).
        assert_eq!(T::offset(0, 9), 18);
        assert_eq!(T::offset(1, 0), 128 + 16);
        assert_eq!(T::offset(1, 8), 128);
        assert_eq!(T::offset(9, 8), 9 * 128);
        // The second panel starts after 16 rows of 128 bytes.
        assert_eq!(T::offset(0, 64), 16 * 128);
        for (row, col) in [(0, 0), (3, 20), (9, 71), (15, 127)] {
            let place = T::place(Addr::from_raw(4096), row, col);
            assert_eq!(place.raw(), 4096 + T::offset(row, col), "{row}, {col}");
        }
    }

    #[test]
    fn every_element_has_its_own_place() {
        type T = Tile<f32, 8, 64>;
        let mut seen = [false; 8 * 64];
        for row in 0..8 {
            for col in 0..64 {
                let at = T::offset(row, col) as usize;
                assert!(at % 4 == 0 && at < seen.len() * 4);
                assert!(!core::mem::replace(&mut seen[at / 4], true));
            }
        }
    }

    #[test]
    fn a_pair_has_the_elements_of_both() {
        type Pair = (Tile<bf16, 8, 64>, Tile<bf16, 16, 64>);
        assert_eq!(<Pair as Elements>::LEN, 24 * 64);
        assert_eq!(Pair::byte_offset(8 * 64 - 1), <Tile<bf16, 8, 64>>::byte_offset(8 * 64 - 1));
        assert_eq!(Pair::byte_offset(8 * 64 + 1), 8 * 128 + 2);
    }

    #[test]
    fn bytes_follow_from_the_type() {
        assert_eq!(<Tile<bf16, 128, 64> as BulkTile>::BYTES, 16384);
        assert_eq!(<Tile<f32, 128, 64> as BulkTile>::PANELS, 2);
        assert_eq!(<(Tile<bf16, 128, 64>, Tile<bf16, 256, 64>) as StageData>::BYTES, 49152);
    }
}
