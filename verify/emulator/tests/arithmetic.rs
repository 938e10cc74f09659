//! Floating-point arithmetic and conversions against a soft-float library: all values of the formats
//! of 16 and 8 bits, tables for those of 6 and 4, and a spread of the wider ones; every rounding.

mod common;

use common::{Shape, module, run};
use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round, Status};

const THREADS: usize = 1024;

const ROUNDINGS: [(&str, Round); 4] = [
    ("rn", Round::NearestTiesToEven),
    ("rz", Round::TowardZero),
    ("rm", Round::TowardNegative),
    ("rp", Round::TowardPositive),
];

/// Applies `code` to each element: `%d1`, `%d2`, `%d3` to `%d4`. The registers of other widths are
/// for its use.
fn map(code: &str, inputs: [&[u64]; 3]) -> Vec<u64> {
    let n = inputs[0].len();
    let body = format!(
        ".reg .f32 %f<4>; .reg .f64 %e<4>; .reg .b8 %c<2>;
         mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.s32 %r0, %r1, {THREADS}, %r0;
         setp.ge.u32 %p0, %r0, {n}; @%p0 bra E; mul.wide.u32 %d0, %r0, 8;
         add.u64 %d5, %a0, %d0; ld.global.b64 %d1, [%d5]; add.u64 %d5, %a1, %d0; ld.global.b64 %d2, [%d5];
         add.u64 %d5, %a2, %d0; ld.global.b64 %d3, [%d5]; mov.u64 %d4, 0;
         {code}
         add.u64 %d5, %a3, %d0; st.global.b64 [%d5], %d4; E: ret;"
    );
    let bytes = |values: &[u64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let fill = |values: &[u64]| {
        let mut all = values.to_vec();
        all.resize(n, 0);
        bytes(&all)
    };
    let buffers = [bytes(inputs[0]), fill(inputs[1]), fill(inputs[2]), vec![0; 8 * n]];
    let buffers: Vec<&[u8]> = buffers.iter().map(|b| &b[..]).collect();
    let grid = n.div_ceil(THREADS) as u32;
    let shape = Shape { grid, block: THREADS as u32, ..Shape::default() };
    let found = run(&module("", 4, &body), &shape, &buffers);
    found.words(3, 2 * n).chunks(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect()
}

/// SplitMix64.
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Numbers of a format with these bits: special ones, and ones whose exponents lie close together.
fn spread(exponent: u32, fraction: u32, count: usize, seed: u64) -> Vec<u64> {
    let mut seed = seed;
    let sign = 1u64 << (exponent + fraction);
    let top = ((1u64 << exponent) - 1) << fraction;
    let one = ((1u64 << (exponent - 1)) - 1) << fraction;
    let mut all = vec![0, sign, 1, sign | 1, (1 << fraction) - 1, 1 << fraction, one, sign | one];
    all.extend([
        top,
        sign | top,
        top | 1 << (fraction - 1),
        top - 1,
        sign | (top - 1),
        one + 1,
        one - 1,
    ]);
    while all.len() < count {
        let word = random(&mut seed);
        let near = (word >> 56) % 8;
        let e = match word >> 62 {
            0 => one + (near << fraction) - (4 << fraction),
            1 => near << fraction,
            2 => top - ((near + 1) << fraction),
            _ => (word & (top | sign)) & !((1 << fraction) - 1),
        };
        // Often few bits, so that results lie halfway between numbers.
        let bits = random(&mut seed) & ((1 << fraction) - 1);
        let kept = if word & 1 == 0 { bits } else { bits & (bits << (fraction / 2)) };
        all.push(e & top | kept | if word & 2 == 0 { sign } else { 0 });
    }
    all
}

fn same<F: Float>(found: u64, expected: F) -> bool {
    let found = F::from_bits(found.into());
    if expected.is_nan() { found.is_nan() } else { found.bitwise_eq(expected) }
}

#[track_caller]
fn check<F: Float>(code: &str, inputs: [&[u64]; 3], expected: impl Fn(F, F, F) -> F) {
    let found = map(code, inputs);
    for (i, &found) in found.iter().enumerate() {
        let [a, b, c] = inputs.map(|v| v.get(i).copied().unwrap_or(0));
        let [x, y, z] = [a, b, c].map(|v| F::from_bits(v.into()));
        let expected = expected(x, y, z);
        assert!(
            same(found, expected),
            "{code}: {a:#x} {b:#x} {c:#x}: {found:#x}, not {:#x}",
            expected.to_bits()
        );
    }
}

/// All operations with all roundings; `around` is the code, with `OP` and its operands to be put in.
fn operations<F: Float>(inputs: [&[u64]; 3], ty: &str, around: &str, [x, y, z]: [&str; 3]) {
    for (name, round) in ROUNDINGS {
        let code = |op: &str, third: &str| {
            around
                .replace("OP", &format!("{op}.{name}.{ty}"))
                .replace("ARGS", &format!("{x}, {y}{third}"))
        };
        check::<F>(&code("add", ""), inputs, |x, y, _| x.add_r(y, round).value);
        check::<F>(&code("sub", ""), inputs, |x, y, _| x.sub_r(y, round).value);
        check::<F>(&code("mul", ""), inputs, |x, y, _| x.mul_r(y, round).value);
        check::<F>(&code("div", ""), inputs, |x, y, _| x.div_r(y, round).value);
        let third = format!(", {z}");
        check::<F>(&code("fma", &third), inputs, |x, y, z| x.mul_add_r(y, z, round).value);
    }
}

#[test]
fn single_precision() {
    let inputs = [1, 2, 3].map(|seed| spread(8, 23, 4_000, seed));
    let around = "cvt.u32.u64 %r2, %d1; cvt.u32.u64 %r3, %d2; cvt.u32.u64 %r4, %d3; mov.b32 %f1, %r2; mov.b32 %f2, %r3;
        mov.b32 %f3, %r4; OP %f0, ARGS; mov.b32 %r5, %f0; cvt.u64.u32 %d4, %r5;";
    let inputs = [&inputs[0][..], &inputs[1], &inputs[2]];
    operations::<Single>(inputs, "f32", around, ["%f1", "%f2", "%f3"]);
}

#[test]
fn double_precision() {
    let inputs = [1, 2, 3].map(|seed| {
        // Far from the ends of the range, where the error of a product has an exponent of its own.
        let far = |v: &u64| (0x200..0x600).contains(&(v >> 52 & 0x7FF)) || v << 1 == 0;
        spread(11, 52, 12_000, seed).into_iter().filter(far).collect::<Vec<_>>()
    });
    let least = inputs.iter().map(Vec::len).min().unwrap_or(0);
    assert!(least > 2_000);
    let inputs = [&inputs[0][..least], &inputs[1][..least], &inputs[2][..least]];
    let around =
        "mov.b64 %e1, %d1; mov.b64 %e2, %d2; mov.b64 %e3, %d3; OP %e0, ARGS; mov.b64 %d4, %e0;";
    operations::<Double>(inputs, "f64", around, ["%e1", "%e2", "%e3"]);
}

#[test]
fn half_precision() {
    let inputs = [1, 2, 3].map(|seed| spread(5, 10, 4_000, seed));
    let brain = [1, 2, 3].map(|seed| spread(8, 7, 4_000, seed));
    let wrap = |op: &str, args: &str| {
        format!(
            "cvt.u16.u64 %h1, %d1; cvt.u16.u64 %h2, %d2; cvt.u16.u64 %h3, %d3; {op} %h0, {args}; cvt.u64.u16 %d4, %h0;"
        )
    };
    let r = Round::NearestTiesToEven;
    let halves = [&inputs[0][..], &inputs[1], &inputs[2]];
    let brains = [&brain[0][..], &brain[1], &brain[2]];
    for (op, args) in
        [("add", "%h1, %h2"), ("sub", "%h1, %h2"), ("mul", "%h1, %h2"), ("fma", "%h1, %h2, %h3")]
    {
        fn apply<F: Float>(op: &str, x: F, y: F, z: F, r: Round) -> F {
            match op {
                "add" => x.add_r(y, r).value,
                "sub" => x.sub_r(y, r).value,
                "mul" => x.mul_r(y, r).value,
                _ => x.mul_add_r(y, z, r).value,
            }
        }
        check::<Half>(&wrap(&format!("{op}.rn.f16"), args), halves, |x, y, z| {
            apply(op, x, y, z, r)
        });
        check::<BFloat>(&wrap(&format!("{op}.rn.bf16"), args), brains, |x, y, z| {
            apply(op, x, y, z, r)
        });
    }
}

/// Converts each of `values` by `code`, and compares with what the library gives.
fn converts<A, B>(code: &str, values: &[u64], round: Round, finite: bool, largest: u64, sign: u64)
where
    A: Float + FloatConvert<B>,
    B: Float,
{
    let found = map(code, [values, &[], &[]]);
    for (&value, &found) in values.iter().zip(&found) {
        let x = A::from_bits(value.into());
        let mut lost = false;
        let converted = x.convert_r(round, &mut lost);
        let mut expected = converted.value;
        if finite && !x.is_nan() && (x.is_infinite() || converted.status.contains(Status::OVERFLOW))
        {
            let bits = largest | if x.is_negative() { sign } else { 0 };
            expected = B::from_bits(bits.into());
        }
        assert!(
            same(found, expected),
            "{code}: {value:#x}: {found:#x}, not {:#x}",
            expected.to_bits()
        );
    }
}

#[test]
fn conversions_between_formats() {
    let halves: Vec<u64> = (0..1 << 16).collect();
    let singles = spread(8, 23, 20_000, 9);
    let doubles = spread(11, 52, 10_000, 9);
    let r = Round::NearestTiesToEven;
    let from16 = |ty: &str| {
        format!(
            "cvt.u16.u64 %h1, %d1; cvt.f32.{ty} %f1, %h1; mov.b32 %r2, %f1; cvt.u64.u32 %d4, %r2;"
        )
    };
    converts::<Half, Single>(&from16("f16"), &halves, r, false, 0, 0);
    converts::<BFloat, Single>(&from16("bf16"), &halves, r, false, 0, 0);
    let wide = "cvt.u16.u64 %h1, %d1; cvt.f64.f16 %e1, %h1; mov.b64 %d4, %e1;";
    converts::<Half, Double>(wide, &halves, r, false, 0, 0);
    for (name, round) in ROUNDINGS {
        let single = |ty: &str, mods: &str| {
            format!(
                "cvt.u32.u64 %r2, %d1; mov.b32 %f1, %r2; cvt.{name}{mods}.{ty}.f32 %h1, %f1; cvt.u64.u16 %d4, %h1;"
            )
        };
        converts::<Single, Half>(&single("f16", ""), &singles, round, false, 0, 0);
        converts::<Single, BFloat>(&single("bf16", ""), &singles, round, false, 0, 0);
        let double = format!(
            "mov.b64 %e1, %d1; cvt.{name}.f32.f64 %f1, %e1; mov.b32 %r2, %f1; cvt.u64.u32 %d4, %r2;"
        );
        converts::<Double, Single>(&double, &doubles, round, false, 0, 0);
    }
    let finite = "cvt.u32.u64 %r2, %d1; mov.b32 %f1, %r2; cvt.rn.satfinite.f16.f32 %h1, %f1; cvt.u64.u16 %d4, %h1;";
    converts::<Single, Half>(finite, &singles, r, true, 0x7BFF, 0x8000);
    // The upper half of the pair; the lower one is zero.
    let pair = |ty: &str| {
        format!(
            "cvt.u32.u64 %r2, %d1; mov.b32 %f1, %r2; mov.b32 %f2, 0; cvt.rn.satfinite.{ty}.f32 %h1, %f1, %f2; shr.u16 %h1, %h1, 8; cvt.u64.u16 %d4, %h1;"
        )
    };
    converts::<Single, Float8E4M3FN>(&pair("e4m3x2"), &singles, r, true, 0x7E, 0x80);
    converts::<Single, Float8E5M2>(&pair("e5m2x2"), &singles, r, true, 0x7B, 0x80);
    let from_half = |ty: &str| {
        format!(
            "cvt.u32.u64 %r2, %d1; shl.b32 %r2, %r2, 16; cvt.rn.satfinite.{ty}.f16x2 %h1, %r2; shr.u16 %h1, %h1, 8; cvt.u64.u16 %d4, %h1;"
        )
    };
    converts::<Half, Float8E4M3FN>(&from_half("e4m3x2"), &halves, r, true, 0x7E, 0x80);
    converts::<Half, Float8E5M2>(&from_half("e5m2x2"), &halves, r, true, 0x7B, 0x80);
    let bytes: Vec<u64> = (0..256).collect();
    let to_half = |ty: &str| {
        format!(
            "cvt.u16.u64 %h1, %d1; shl.b16 %h1, %h1, 8; cvt.rn.f16x2.{ty} %r2, %h1; shr.u32 %r2, %r2, 16; cvt.u64.u32 %d4, %r2;"
        )
    };
    converts::<Float8E4M3FN, Half>(&to_half("e4m3x2"), &bytes, r, false, 0, 0);
    converts::<Float8E5M2, Half>(&to_half("e5m2x2"), &bytes, r, false, 0, 0);
}

/// The numbers of a format of 6 or 4 bits, from its definition.
fn table(exponent: i32, fraction: u32) -> Vec<f64> {
    let bias = (1 << (exponent - 1)) - 1;
    (0..1u32 << (exponent as u32 + fraction))
        .map(|code| {
            let (e, f) = ((code >> fraction) as i32, f64::from(code & ((1 << fraction) - 1)));
            let one = f64::from(1u32 << fraction);
            if e == 0 {
                f / one * 2f64.powi(1 - bias)
            } else {
                (1.0 + f / one) * 2f64.powi(e - bias)
            }
        })
        .collect()
}

#[test]
fn six_and_four_bits() {
    let values = spread(8, 23, 4_000, 4);
    for (ty, exponent, fraction) in [("e2m3x2", 2, 3), ("e3m2x2", 3, 2), ("e2m1x2", 2, 1)] {
        let table = table(exponent, fraction);
        let width = if ty == "e2m1x2" { 4 } else { 8 };
        let to = if width == 4 { "%c0" } else { "%h1" };
        let code = format!(
            "cvt.u32.u64 %r2, %d1; mov.b32 %f1, %r2; mov.b32 %f2, 0f3F800000; cvt.rn.satfinite.{ty}.f32 {to}, %f1, %f2; cvt.u32.u{} %r3, {to}; cvt.u64.u32 %d4, %r3;",
            if width == 4 { 8 } else { 16 }
        );
        let one = table.iter().position(|v| *v == 1.0).unwrap_or(0) as u64;
        let found = map(&code, [&values, &[], &[]]);
        for (&bits, &found) in values.iter().zip(&found) {
            let x = f64::from(f32::from_bits(bits as u32));
            // The nearest entry; between two, the even code. What is no number becomes the largest.
            let last = table.len() - 1;
            let magnitude = x.abs().min(table[last]);
            let nearest = (0..=last)
                .min_by(|&i, &j| {
                    let (u, v) = ((table[i] - magnitude).abs(), (table[j] - magnitude).abs());
                    u.total_cmp(&v).then((i % 2).cmp(&(j % 2)))
                })
                .unwrap_or(0);
            let nearest = if x.is_nan() { last } else { nearest } as u64;
            let sign = if !x.is_nan() && x.is_sign_negative() {
                1 << (exponent as u32 + fraction)
            } else {
                0
            };
            assert_eq!(found, (nearest | sign) << width | one, "{ty} {x:e}");
        }
        let codes: Vec<u64> = (0..1 << (exponent as u32 + fraction + 1)).collect();
        let code = format!(
            "cvt.u16.u64 %h1, %d1; {} cvt.rn.f16x2.{ty} %r2, {to}; and.b32 %r2, %r2, 0xFFFF; cvt.u64.u32 %d4, %r2;",
            if width == 4 { "cvt.u8.u16 %c0, %h1;" } else { "" }
        );
        for (&code, found) in codes.iter().zip(map(&code, [&codes, &[], &[]])) {
            let sign = if code as usize >= table.len() { -1.0 } else { 1.0 };
            let mut lost = false;
            let value =
                Double::from_bits((sign * table[code as usize % table.len()]).to_bits().into());
            let expected: Half = value.convert(&mut lost).value;
            assert_eq!(u128::from(found), expected.to_bits(), "{ty} {code:#x}");
        }
    }
}

#[test]
fn powers_of_two() {
    let values = [
        1.0f32,
        1.5,
        2.0,
        3.999,
        0.75,
        1e-40,
        3.4e38,
        f32::INFINITY,
        f32::NAN,
        2f32.powi(-127),
        0.0,
    ];
    let down = [127u64, 127, 128, 128, 126, 0, 254, 254, 255, 0, 0];
    let up = [127u64, 128, 128, 129, 127, 0, 254, 254, 255, 0, 0];
    let bits: Vec<u64> = values.iter().map(|v| v.to_bits().into()).collect();
    for (mode, expected) in [("rz", down), ("rp", up)] {
        let code = format!(
            "cvt.u32.u64 %r2, %d1; mov.b32 %f1, %r2; mov.b32 %f2, 0f3F800000; cvt.{mode}.satfinite.ue8m0x2.f32 %h1, %f1, %f2; cvt.u64.u16 %d4, %h1;"
        );
        for (i, found) in map(&code, [&bits, &[], &[]]).into_iter().enumerate() {
            assert_eq!(found, expected[i] << 8 | 127, "{mode} {}", values[i]);
        }
    }
}

#[test]
fn integers() {
    let mut seed = 5;
    let a: Vec<u64> = (0..4096).map(|_| random(&mut seed)).collect();
    let b: Vec<u64> = (0..4096).map(|_| random(&mut seed)).collect();
    let c: Vec<u64> = (0..4096).map(|_| random(&mut seed)).collect();
    let check = |op: &str, args: &str, expected: &dyn Fn(u32, u32, u32) -> u32| {
        let code = format!(
            "cvt.u32.u64 %r2, %d1; cvt.u32.u64 %r3, %d2; cvt.u32.u64 %r4, %d3; {op} %r5, {args}; cvt.u64.u32 %d4, %r5;"
        );
        for (i, found) in map(&code, [&a, &b, &c]).into_iter().enumerate() {
            let expected = expected(a[i] as u32, b[i] as u32, c[i] as u32);
            assert_eq!(
                found as u32, expected,
                "{op} {:#x} {:#x} {:#x}",
                a[i] as u32, b[i] as u32, c[i] as u32
            );
        }
    };
    let three = "%r2, %r3, %r4";
    let bytes = |v: u32| v.to_le_bytes();
    check("dp4a.s32.u32", three, &|a, b, c| {
        (0..4).fold(c, |sum, i| {
            sum.wrapping_add((i32::from(bytes(a)[i] as i8) * i32::from(bytes(b)[i])) as u32)
        })
    });
    check("dp4a.u32.u32", three, &|a, b, c| {
        (0..4).fold(c, |sum, i| sum.wrapping_add(u32::from(bytes(a)[i]) * u32::from(bytes(b)[i])))
    });
    check("dp2a.hi.s32.s32", three, &|a, b, c| {
        let term =
            |half: u32, byte: u8| (i32::from(half as u16 as i16) * i32::from(byte as i8)) as u32;
        c.wrapping_add(term(a, bytes(b)[2])).wrapping_add(term(a >> 16, bytes(b)[3]))
    });
    check("dp2a.lo.u32.s32", three, &|a, b, c| {
        let term = |half: u32, byte: u8| {
            ((half & 0xFFFF) as i32).wrapping_mul(i32::from(byte as i8)) as u32
        };
        c.wrapping_add(term(a, bytes(b)[0])).wrapping_add(term(a >> 16, bytes(b)[1]))
    });
    check("bmsk.clamp.b32", "%r2, %r3", &|a, b, _| {
        (0..32)
            .filter(|&i| i >= a && u64::from(i) < u64::from(a) + u64::from(b.min(32)))
            .fold(0, |m, i| m | 1 << i)
    });
    check("szext.wrap.s32", "%r2, %r3", &|a, b, _| match b % 32 {
        0 => 0,
        n => ((a << (32 - n)) as i32 >> (32 - n)) as u32,
    });
    check("mul24.hi.u32", "%r2, %r3", &|a, b, _| {
        ((u64::from(a & 0xFF_FFFF) * u64::from(b & 0xFF_FFFF)) >> 16) as u32
    });
    check("min.relu.s32", "%r2, %r3", &|a, b, _| (a as i32).min(b as i32).max(0) as u32);
    check("mad.hi.sat.s32", three, &|a, b, c| {
        let high = ((i64::from(a as i32) * i64::from(b as i32)) >> 32) + i64::from(c as i32);
        high.clamp(i32::MIN.into(), i32::MAX.into()) as u32
    });
    let pair = |f: fn(i16, i16) -> i16| {
        move |a: u32, b: u32, _: u32| {
            let one = |s: u32| u32::from(f((a >> s) as i16, (b >> s) as i16) as u16) << s;
            one(0) | one(16)
        }
    };
    check("add.s16x2", "%r2, %r3", &pair(i16::wrapping_add));
    check("min.s16x2", "%r2, %r3", &pair(|x, y| x.min(y)));
    check("max.u16x2", "%r2, %r3", &pair(|x, y| (x as u16).max(y as u16) as i16));
    check("cvt.pack.sat.s16.s32", "%r2, %r3", &|a, b, _| {
        let clamp = |v: u32| (v as i32).clamp(-32768, 32767) as u16;
        u32::from(clamp(a)) << 16 | u32::from(clamp(b))
    });
    check("cvt.pack.sat.u8.s32.b32", three, &|a, b, c| {
        let clamp = |v: u32| (v as i32).clamp(0, 255) as u32;
        c << 16 | clamp(a) << 8 | clamp(b)
    });
    check("vabsdiff4.u32.u32.u32", three, &|a, b, _| {
        u32::from_le_bytes(std::array::from_fn(|i| bytes(a)[i].abs_diff(bytes(b)[i])))
    });
    check("vabsdiff4.u32.u32.u32.add", three, &|a, b, c| {
        (0..4).fold(c, |sum, i| sum.wrapping_add(bytes(a)[i].abs_diff(bytes(b)[i]).into()))
    });
    // fns counts set bits from a base, upwards or downwards.
    let small: Vec<u64> = (0..4096).map(|i| i % 32).collect();
    let offsets: Vec<u64> = (0..4096).map(|i| (i / 32 % 9) as u64).collect();
    let code = "cvt.u32.u64 %r2, %d1; cvt.u32.u64 %r3, %d2; cvt.u32.u64 %r4, %d3; sub.u32 %r4, %r4, 4; fns.b32 %r5, %r2, %r3, %r4; cvt.u64.u32 %d4, %r5;";
    for (i, found) in map(code, [&a, &small, &offsets]).into_iter().enumerate() {
        let (mask, base, offset) = (a[i] as u32, small[i] as i32, offsets[i] as i32 - 4);
        let set = |j: &i32| mask >> j & 1 == 1;
        let expected = match offset {
            0 => Some(base).filter(set),
            n if n > 0 => (base..32).filter(set).nth(n as usize - 1),
            n => (0..=base).rev().filter(set).nth(-n as usize - 1),
        };
        assert_eq!(
            found as u32,
            expected.map_or(u32::MAX, |v| v as u32),
            "{mask:#x} {base} {offset}"
        );
    }
}

#[test]
fn clamps_and_comparisons_of_pairs() {
    let values = spread(5, 10, 4096, 1);
    let others = spread(5, 10, 4096, 2);
    let code = "cvt.u16.u64 %h1, %d1; cvt.u16.u64 %h2, %d2; mov.u16 %h3, 0x3C00; fma.rn.relu.f16 %h0, %h1, %h2, %h3; cvt.u64.u16 %d4, %h0;";
    check::<Half>(code, [&values, &others, &[]], |x, y, _| {
        let z = x.mul_add(y, Half::from_bits(0x3C00)).value;
        if !z.is_nan() && z.is_negative() { Half::from_bits(0) } else { z }
    });
    let code = "cvt.u32.u64 %r2, %d1; cvt.u32.u64 %r3, %d2; mov.b32 {%h1, %h2}, %r2; mov.b32 %r4, {%h1, %h1}; mov.b32 {%h3, %h4}, %r3; mov.b32 %r5, {%h3, %h1};
        setp.lt.f16x2 %p1|%p2, %r4, %r5; selp.u64 %d4, 1, 0, %p1; @%p2 add.u64 %d4, %d4, 2;";
    for (i, found) in map(code, [&values, &others, &[]]).into_iter().enumerate() {
        let (x, y) = (Half::from_bits(values[i].into()), Half::from_bits(others[i].into()));
        assert_eq!(found, u64::from(x < y), "{:#x} {:#x}", values[i], others[i]);
    }
}
