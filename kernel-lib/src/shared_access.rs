//! Ordinary (weak) access to elements in the CTA's shared memory.
//!
//! No reference to shared memory is ever made: other threads and asynchronous operations touch it (I26).

use crate::ptx::addr::{Addr, SharedCta};
use crate::ptx::{control, ld, st};
use crate::tile::Element;
use crate::unrolled::unrolled;

/// Loads one element.
///
/// # Safety
/// 1. `at` is aligned for `T`, inside the CTA's shared memory, and initialised.
/// 2. Nobody else writes it without synchronisation between.
#[inline(always)]
pub(crate) unsafe fn read<T: Element>(at: Addr<SharedCta>) -> T {
    // SAFETY: the caller's promise; by address, so that the compiler assumes nothing about who else may write it (I26).
    unsafe { ld::ld_weak(at) }
}

/// Stores one element.
///
/// # Safety
/// 1. `at` is aligned for `T` and inside the CTA's shared memory.
/// 2. Nobody else touches it without synchronisation between.
#[inline(always)]
pub(crate) unsafe fn write<T: Element>(at: Addr<SharedCta>, value: T) {
    // SAFETY: the caller's promise.
    unsafe { st::st_weak(at, value) }
}

/// Stores two neighbouring elements of four bytes with one instruction.
///
/// # Safety
/// As [`write`], for 8 bytes aligned to 8.
#[inline(always)]
pub(crate) unsafe fn write_two(at: Addr<SharedCta>, words: [u32; 2]) {
    // SAFETY: the caller's promise.
    unsafe { st::st_weak_v2(at, words) }
}

/// Stores 16 bytes of elements with one instruction.
///
/// # Safety
/// As [`write`], for 16 bytes aligned to 16.
#[inline(always)]
pub(crate) unsafe fn write_chunk(at: Addr<SharedCta>, words: [u32; 4]) {
    // SAFETY: the caller's promise.
    unsafe { st::st_weak_v4(at, words) }
}

/// Loads 16 bytes of elements with one instruction.
///
/// # Safety
/// As [`read`], for 16 bytes aligned to 16.
#[inline(always)]
pub(crate) unsafe fn read_chunk(at: Addr<SharedCta>) -> [u32; 4] {
    // SAFETY: the caller's promise.
    unsafe { ld::ld_weak_v4(at) }
}

/// Packs `16 / size_of::<T>()` elements into four words, the first in the low bits; `two` gives two of them at a time, from the number of the
/// first on.
#[inline(always)]
pub(crate) fn pack<T: Element>(mut two: impl FnMut(usize) -> [T; 2]) -> [u32; 4] {
    let size = size_of::<T>();
    let mut words = [0; 4];
    unrolled!(pair < 8 / size_of::<T>(), {
        let i = 2 * pair;
        let [low, high] = two(i).map(T::to_word);
        if size == 8 {
            words = [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32];
        } else {
            words[i * size / 4] |= (low as u32) << (8 * (i * size % 4));
            words[(i + 1) * size / 4] |= (high as u32) << (8 * ((i + 1) * size % 4));
        }
    });
    words
}

/// Element `i` of those that [`pack`] put into four words.
#[inline(always)]
pub(crate) fn unpack<T: Element>(words: &[u32; 4], i: usize) -> T {
    let size = size_of::<T>();
    T::from_word(if size == 8 {
        words[i * 2] as u64 | (words[i * 2 + 1] as u64) << 32
    } else {
        (words[i * size / 4] >> (8 * (i * size % 4))) as u64
    })
}

/// `N` elements, of which `chunk` gives the 16 bytes that begin at the byte of this number.
#[inline(always)]
pub(crate) fn unpack_all<T: Element, const N: usize>(
    mut chunk: impl FnMut(usize) -> [u32; 4],
) -> [T; N] {
    let mut elements = [T::from_word(0); N];
    unrolled!(number < N * size_of::<T>() / 16, {
        let (words, first) = (chunk(16 * number), number * (16 / size_of::<T>()));
        unrolled!(i < 16 / size_of::<T>(), { elements[first + i] = unpack(&words, i) });
    });
    elements
}

/// Stops the kernel where an index is out of its range: the check that keeps safe code inside its region.
#[inline(always)]
pub(crate) fn check(in_range: bool) {
    if !in_range {
        control::trap()
    }
}

#[cfg(test)]
mod tests {
    use super::{pack, unpack};
    use crate::tile::Element;

    fn words<T: Element, const N: usize>(values: [T; N]) -> [u32; 4] {
        pack(|i| [values[i], values[i + 1]])
    }

    #[test]
    fn elements_fill_words_from_the_low_end() {
        assert_eq!(
            words([1u8, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])[0],
            0x0403_0201
        );
        assert_eq!(words([1u16, 2, 3, 4, 5, 6, 7, 8]), [0x2_0001, 0x4_0003, 0x6_0005, 0x8_0007]);
        assert_eq!(words([7u64, 1 << 32 | 9]), [7, 0, 9, 1]);
        assert_eq!(words([1.0f32, 2.0, 3.0, 4.0])[3], 4.0f32.to_bits());
    }

    #[test]
    fn what_was_packed_comes_out_again() {
        let bytes: [u8; 16] = core::array::from_fn(|i| 250 - 3 * i as u8);
        let packed = words(bytes);
        assert_eq!(core::array::from_fn(|i| unpack::<u8>(&packed, i)), bytes);
        let longs = [7i64, -9];
        let packed = words(longs);
        assert_eq!([0, 1].map(|i| unpack::<i64>(&packed, i)), longs);
    }
}
