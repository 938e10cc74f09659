use super::*;

#[test]
fn narrow_formats_round_as_their_neighbours_say() {
    // Every f16: widening and narrowing gives it back; halfway goes to even.
    for bits in 0..0x7C00u32 {
        let x = widen(bits, Format::F16);
        assert_eq!(f64::from(f16_to_f32(bits)), x);
        assert_eq!(narrow(x, Format::F16, Rounding::NearestEven, false), bits);
        if bits + 1 < 0x7C00 {
            let middle = (x + widen(bits + 1, Format::F16)) / 2.0;
            let even = if bits & 1 == 0 { bits } else { bits + 1 };
            assert_eq!(narrow(middle, Format::F16, Rounding::NearestEven, false), even);
            assert_eq!(narrow(middle, Format::F16, Rounding::Zero, false), bits);
            assert_eq!(narrow(-middle, Format::F16, Rounding::Down, false), 0x8001 + bits);
        }
    }
    assert_eq!(narrow(65520.0, Format::F16, Rounding::NearestEven, false), 0x7C00);
    assert_eq!(narrow(65519.9, Format::F16, Rounding::NearestEven, false), 0x7BFF);
    assert_eq!(narrow(1e9, Format::F16, Rounding::NearestEven, true), 0x7BFF);
    assert_eq!(narrow(448.0, Format::E4M3, Rounding::NearestEven, true), 0x7E);
    assert_eq!(narrow(1e9, Format::E4M3, Rounding::NearestEven, true), 0x7E);
    assert_eq!(narrow(1e-30, Format::F16, Rounding::Up, false), 1);
}

#[test]
fn single_precision_agrees_with_the_general_rounding() {
    for bits in (0..u32::MAX - 0xFFFF).step_by(104_729) {
        let x = f64::from(f32::from_bits(bits)) * 1.000_000_07;
        if x.is_finite() {
            let want = (x as f32).to_bits();
            assert_eq!(narrow(x, Format::F32, Rounding::NearestEven, false), want, "{x:e}");
        }
        let y = f32::from_bits(bits);
        if !y.is_nan() {
            let want = narrow(f64::from(y), Format::BF16, Rounding::NearestEven, false);
            assert_eq!(f32_to_bf16(y), want, "{y:e}");
        }
    }
}

#[test]
fn directed_rounding_brackets_the_exact_result() {
    let one = 1.0f32.to_bits();
    let tiny = 1e-30f32.to_bits();
    let run = |f, mode, a, b, c| narrow_float(f, Float::F32, mode, a, b, c);
    assert_eq!(run(FloatFn::Add, Rounding::Up, one, tiny, 0), one + 1);
    assert_eq!(run(FloatFn::Add, Rounding::Zero, one, tiny, 0), one);
    assert_eq!(run(FloatFn::Sub, Rounding::Down, one, tiny, 0), one - 1);
    let three = 3.0f32.to_bits();
    let third = (1.0f32 / 3.0).to_bits();
    assert_eq!(run(FloatFn::Div, Rounding::NearestEven, one, three, 0), third);
    assert_eq!(run(FloatFn::Div, Rounding::Up, one, three, 0), third);
    assert_eq!(run(FloatFn::Div, Rounding::Down, one, three, 0), third - 1);
    assert_eq!(run(FloatFn::Sub, Rounding::Down, one, one, 0), 0x8000_0000);
}

#[test]
fn half_fma_rounds_once() {
    // 1 + 2^-11 lies halfway between neighbours; a sticky 2^-24 below decides upwards.
    let f16 = |x: f64| narrow(x, Format::F16, Rounding::NearestEven, false);
    let run = |a, b, c| {
        narrow_float(FloatFn::Fma, Float::F16, Rounding::NearestEven, f16(a), f16(b), f16(c))
    };
    assert_eq!(run(1.0, 2f64.powi(-11), 1.0), f16(1.0));
    assert_eq!(run(1.0 + 2f64.powi(-10), 2f64.powi(-11), 1.0), f16(1.0) + 1);
}

#[test]
fn integers_to_floats_with_every_rounding() {
    let x = (1i128 << 40) + 1;
    let low = (2f32.powi(40)).to_bits();
    assert_eq!(int_to_float(x, Float::F32, Rounding::NearestEven) as u32, low);
    assert_eq!(int_to_float(x, Float::F32, Rounding::Up) as u32, low + 1);
    assert_eq!(int_to_float(-x, Float::F32, Rounding::Down) as u32, (low + 1) | (1 << 31));
    let y = i128::from(u64::MAX);
    assert_eq!(int_to_float(y, Float::F64, Rounding::Zero), 2f64.powi(64).to_bits() - 1);
    assert_eq!(int_to_float(y, Float::F64, Rounding::Up), 2f64.powi(64).to_bits());
    assert_eq!(float_to_int(f64::NAN, 32, true, Rounding::Zero), 0);
    assert_eq!(float_to_int(3e9, 32, true, Rounding::Zero), 0x7FFF_FFFF);
    assert_eq!(float_to_int(-2.5, 32, true, Rounding::NearestEven) as i64, -2);
    assert_eq!(float_to_int(-1.0, 8, false, Rounding::Zero), 0);
}
