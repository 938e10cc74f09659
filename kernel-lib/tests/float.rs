//! The 16-bit floats' conversions on the host, against the `half` crate.

use baton::float::{bf16, bf16x2, f16, f16x2};

/// Every finite result's neighbourhood in f32: the value, the halfway points on both sides, and the f32
/// next to each of those. Rounding can only go wrong there.
fn edges(widen: impl Fn(u16) -> f32) -> impl Iterator<Item = f32> {
    (0..=u16::MAX).flat_map(move |bits| {
        let value = widen(bits);
        let halfway = ((f64::from(value) + f64::from(widen(bits.wrapping_add(1)))) / 2.0) as f32;
        [value, halfway].into_iter().flat_map(|center| {
            (-2i32..=2).map(move |step| f32::from_bits(center.to_bits().wrapping_add_signed(step)))
        })
    })
}

/// All of f32 in steps coprime to every power of two.
fn sample() -> impl Iterator<Item = f32> {
    (0..=u32::MAX).step_by(1021).map(f32::from_bits)
}

#[test]
fn bf16_widens_exactly() {
    for bits in 0..=u16::MAX {
        let (ours, theirs) = (bf16::from_bits(bits).to_f32(), half::bf16::from_bits(bits).to_f32());
        assert!(
            ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(),
            "{bits:#x}"
        );
    }
}

#[test]
fn f16_widens_exactly() {
    for bits in 0..=u16::MAX {
        let (ours, theirs) = (f16::from_bits(bits).to_f32(), half::f16::from_bits(bits).to_f32());
        assert!(
            ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(),
            "{bits:#x}"
        );
    }
}

#[test]
fn bf16_rounds_to_nearest_even() {
    for value in edges(|bits| half::bf16::from_bits(bits).to_f32()).chain(sample()) {
        let ours = bf16::from_f32(value).to_bits();
        let theirs = if value.is_nan() { 0x7fff } else { half::bf16::from_f32(value).to_bits() };
        assert_eq!(ours, theirs, "{value:e} {:#x}", value.to_bits());
    }
}

#[test]
fn f16_rounds_to_nearest_even() {
    for value in edges(|bits| half::f16::from_bits(bits).to_f32()).chain(sample()) {
        let ours = f16::from_f32(value).to_bits();
        let theirs = if value.is_nan() { 0x7fff } else { half::f16::from_f32(value).to_bits() };
        assert_eq!(ours, theirs, "{value:e} {:#x}", value.to_bits());
    }
}

#[test]
fn pairs_hold_the_first_element_in_the_low_half() {
    let pair = bf16x2::from_f32(1.0, -2.0);
    assert_eq!(pair.to_bits(), 0xc000_3f80);
    assert_eq!((pair.low().to_f32(), pair.high().to_f32()), (1.0, -2.0));
    assert_eq!(f16x2::new(f16::from_f32(1.0), f16::from_f32(-2.0)).to_bits(), 0xc000_3c00);
}

#[test]
fn comparison_is_of_numbers() {
    assert_eq!(bf16::ZERO, bf16::from_f32(-0.0));
    assert_ne!(f16::from_f32(f32::NAN), f16::from_f32(f32::NAN));
    assert!(f16::from_f32(-1.0) < f16::ZERO);
}
