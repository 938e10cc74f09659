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

#[test]
fn six_and_four_bit_elements_match_their_tables() {
    // OCP Microscaling Formats 1.0, tables of FP6 and FP4.
    let e2m1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    for (bits, &value) in e2m1.iter().enumerate() {
        assert_eq!(e2m1_to_f32(bits as u8), value);
        assert_eq!(e2m1_to_f32(bits as u8 | 8), -value);
    }
    let e2m3 = [
        0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0, 1.125, 1.25, 1.375, 1.5, 1.625,
        1.75, 1.875, 2.0, 2.25, 2.5, 2.75, 3.0, 3.25, 3.5, 3.75, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0,
        7.5,
    ];
    let e3m2 = [
        0.0, 0.0625, 0.125, 0.1875, 0.25, 0.3125, 0.375, 0.4375, 0.5, 0.625, 0.75, 0.875, 1.0,
        1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0, 16.0, 20.0,
        24.0, 28.0,
    ];
    for bits in 0..32u8 {
        assert_eq!(e2m3_to_f32(bits), e2m3[usize::from(bits)]);
        assert_eq!(e2m3_to_f32(bits | 32), -e2m3[usize::from(bits)]);
        assert_eq!(e3m2_to_f32(bits), e3m2[usize::from(bits)]);
        assert_eq!(e3m2_to_f32(bits | 32), -e3m2[usize::from(bits)]);
    }
    for bits in 0..255u8 {
        assert_eq!(ue8m0_to_f64(bits), 2f64.powi(i32::from(bits) - 127));
    }
    assert!(ue8m0_to_f64(255).is_nan());
    assert_eq!(ue4m3_to_f64(0x38), 1.0);
    assert_eq!(ue4m3_to_f64(0xb8), 1.0);
}
