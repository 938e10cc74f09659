use super::super::element::*;

#[test]
fn half_precision_matches_its_definition() {
    for bits in 0..=u16::MAX {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
        let expected = sign
            * match exponent {
                31 if fraction != 0.0 => f64::NAN,
                31 => f64::INFINITY,
                0 => fraction * 2f64.powi(-24),
                _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
            };
        let found = f16_to_f32(bits);
        if expected.is_nan() {
            assert!(found.is_nan());
            assert_eq!(f32_to_f16(found), 0x7fff);
        } else {
            assert_eq!(f64::from(found).to_bits(), expected.to_bits(), "{bits:#x}");
            assert_eq!(f32_to_f16(found), bits);
        }
    }
}

#[test]
fn rounding_to_half_precision_is_to_nearest_even() {
    for bits in 0..0x7c00u16 {
        let (low, high) = (f16_to_f32(bits), f16_to_f32(bits + 1));
        // The number after the largest is 65536 for the purpose of rounding.
        let high_value = if high.is_infinite() { 65536.0 } else { high };
        let middle = (low + high_value) / 2.0;
        let even = bits + bits % 2;
        assert_eq!(f32_to_f16(middle), even, "middle of {low} and {high}");
        assert_eq!(f32_to_f16(middle.next_down()), bits);
        assert_eq!(f32_to_f16(middle.next_up()), bits + 1);
        assert_eq!(f32_to_f16(-middle), even | 0x8000);
    }
    assert_eq!(f32_to_f16(1e30), 0x7c00);
    assert_eq!(f32_to_f16(f32::NEG_INFINITY), 0xfc00);
    assert_eq!(f32_to_f16(1e-30), 0);
}

#[test]
fn small_elements_match_their_definitions() {
    for bits in 0..=u8::MAX {
        let sign = if bits >> 7 == 1 { -1.0 } else { 1.0 };
        let (exponent, fraction) = (i32::from(bits >> 3 & 15), f32::from(bits & 7));
        let scaled = if exponent == 0 { fraction } else { 8.0 + fraction };
        let expected = sign * scaled * 2f32.powi(exponent.max(1) - 10);
        if bits & 0x7f == 0x7f {
            assert!(e4m3_to_f32(bits).is_nan());
        } else {
            assert_eq!(e4m3_to_f32(bits), expected, "{bits:#x}");
        }
        let (exponent, fraction) = (i32::from(bits >> 2 & 31), f32::from(bits & 3));
        let scaled = if exponent == 0 { fraction } else { 4.0 + fraction };
        let expected = sign * scaled * 2f32.powi(exponent.max(1) - 17);
        if exponent == 31 {
            assert_eq!(e5m2_to_f32(bits).is_nan(), fraction != 0.0);
            assert_eq!(e5m2_to_f32(bits).is_infinite(), fraction == 0.0);
        } else {
            assert_eq!(e5m2_to_f32(bits), expected, "{bits:#x}");
        }
    }
    assert_eq!(e4m3_to_f32(0x7e), 448.0);
    assert_eq!(e5m2_to_f32(0x7b), 57344.0);
    assert_eq!(bf16_to_f32(0x3fc0), 1.5);
    assert_eq!(tf32_to_f32(0x3f80_3fff), 1.0 + 2f32.powi(-10));
}
