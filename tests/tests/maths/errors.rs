//! The worst error of each function.

use std::fmt::Write as _;
use std::fs;

use baton::float::{bf16, f16};
use baton::math::Math;
use baton_campaign::{Campaign, is_long};
use baton_tests::root;

use crate::reference;

const FILE: &str = "docs/maths.md";

/// Of the arguments of `f32`, the page is of each that this divides, and a usual run looks at one in so many of those.
const STEP: u64 = 61;
const SAMPLE: u64 = 67;

/// The worst error, in units of the last place of the exact value, and where; and the worst absolute error of values up to 1.
#[derive(Clone, Copy, Debug, Default)]
struct Worst {
    ulps: f64,
    at: f64,
    absolute: f64,
}

impl Worst {
    #[inline(always)]
    fn of(self, ulps: f64, at: f64) -> Self {
        // An error that is no number is the worst there is.
        if ulps > self.ulps || ulps.is_nan() { Self { ulps, at, ..self } } else { self }
    }

    fn and(self, other: Self) -> Self {
        Self { absolute: self.absolute.max(other.absolute), ..self.of(other.ulps, other.at) }
    }
}

/// The distance in places of a format with `digits` binary digits, whose smallest number is 2^`least` and whose greatest is `most`.
#[inline(always)]
fn distance(computed: f64, exact: f64, digits: i32, least: i32, most: f64) -> f64 {
    if computed == exact || computed.is_nan() && exact.is_nan() {
        return 0.0;
    }
    // What rounds to infinity is taken for the number after the greatest.
    let beyond = most * (1.0 + f64::powi(2.0, -digits));
    let capped = |x: f64| x.clamp(-beyond, beyond);
    let (computed, exact) = (capped(computed), capped(exact));
    let exponent = (exact.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let place = (exponent - digits + 1).max(least);
    (computed - exact).abs() / f64::from_bits(((place + 1023) as u64) << 52)
}

/// One function of one argument, and its exact value.
struct Function {
    name: &'static str,
    /// The worst in `f32` over the arguments whose bits are in the range, in steps.
    single: fn(std::ops::Range<u64>, usize) -> Worst,
    f16: fn() -> Worst,
    bf16: fn() -> Worst,
}

/// With the instructions for `fma` that the processor has, since there are many arguments; the values are the same.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn sweep_fast(
    range: std::ops::Range<u64>,
    step: usize,
    value: impl Fn(f32) -> (f64, f64),
) -> Worst {
    sweep(range, step, value)
}

#[inline(always)]
fn sweep(range: std::ops::Range<u64>, step: usize, value: impl Fn(f32) -> (f64, f64)) -> Worst {
    range.step_by(step).fold(Worst::default(), |worst, bits| {
        let x = f32::from_bits(bits as u32);
        let (computed, exact) = value(x);
        let worst =
            worst.of(distance(computed, exact, 24, -149, f64::from(f32::MAX)), f64::from(x));
        let absolute = if exact.abs() <= 1.0 { (computed - exact).abs() } else { 0.0 };
        Worst { absolute: worst.absolute.max(absolute), ..worst }
    })
}

fn single(range: std::ops::Range<u64>, step: usize, value: impl Fn(f32) -> (f64, f64)) -> Worst {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("fma") && is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has both.
        return unsafe { sweep_fast(range, step, value) };
    }
    sweep(range, step, value)
}

macro_rules! functions {
    ($($name:ident $exact:expr;)*) => {
        &[$(Function {
            name: stringify!($name),
            single: |range, step| single(range, step, |x| {
                let exact: fn(f64) -> f64 = $exact;
                (f64::from(Math::$name(x)), exact(f64::from(x)))
            }),
            f16: || (0..=u16::MAX).fold(Worst::default(), |worst, bits| {
                let exact: fn(f64) -> f64 = $exact;
                let x = f16::from_bits(bits);
                let computed = f64::from(Math::$name(x).to_f32());
                let at = f64::from(x.to_f32());
                worst.of(distance(computed, exact(at), 11, -24, 65504.0), at)
            }),
            bf16: || (0..=u16::MAX).fold(Worst::default(), |worst, bits| {
                let exact: fn(f64) -> f64 = $exact;
                let x = bf16::from_bits(bits);
                let computed = f64::from(Math::$name(x).to_f32());
                let at = f64::from(x.to_f32());
                worst.of(distance(computed, exact(at), 8, -133, f64::from(f32::from_bits(0x7f7f_0000))), at)
            }),
        }),*]
    };
}

const FUNCTIONS: &[Function] = functions! {
    sqrt f64::sqrt;
    exp f64::exp;
    exp2 f64::exp2;
    ln f64::ln;
    log2 f64::log2;
    sin f64::sin;
    cos f64::cos;
    tanh f64::tanh;
    sigmoid reference::sigmoid;
    silu |x| if x == f64::NEG_INFINITY { 0.0 } else { x * reference::sigmoid(x) };
    erf reference::erf;
    gelu |x| if x == f64::NEG_INFINITY { 0.0 } else { reference::gelu(x) };
    gelu_tanh |x| if x == f64::NEG_INFINITY { 0.0 } else { reference::gelu_tanh(x) };
};

/// A number as the page has it: rounded up in the third place, so that it bounds what was measured.
fn shown(ulps: f64) -> String {
    format!("{:.3}", (ulps * 1000.0).ceil() / 1000.0)
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    let x = *state ^ (*state >> 33);
    x.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ (x >> 29)
}

/// powf of random bases and exponents, of which half are near what neither over- nor underflows.
fn worst_of_powf(cases: u64) -> Worst {
    let mut state = 7;
    (0..cases).fold(Worst::default(), |worst, case| {
        let bits = random(&mut state);
        let x = f32::from_bits(bits as u32).abs();
        let y = if case % 2 == 0 {
            f32::from_bits((bits >> 32) as u32)
        } else {
            let range = 127.0 / x.log2().abs().max(1e-30);
            ((bits >> 32) as f32 / 2_147_483_648.0 - 1.0) * range
        };
        let exact = f64::from(x).powf(f64::from(y));
        let computed = f64::from(Math::powf(x, y));
        // A NaN of the argument comes through as one.
        worst.of(distance(computed, exact, 24, -149, f64::from(f32::MAX)), f64::from(x))
    })
}

/// Functions in double precision at random arguments of a range.
fn worst_of_double(
    cases: u64,
    range: std::ops::Range<f64>,
    logarithmic: bool,
    f: fn(f64) -> f64,
    exact: fn(f64) -> dashu_float::FBig,
) -> Worst {
    let mut state = 11;
    (0..cases).fold(Worst::default(), |worst, _| {
        let part = (random(&mut state) >> 11) as f64 / (1u64 << 53) as f64;
        let x = if logarithmic {
            (range.start.ln() + part * (range.end.ln() - range.start.ln())).exp()
        } else {
            range.start + part * (range.end - range.start)
        };
        worst.of(reference::ulps(f(x), &exact(x)), x)
    })
}

type Double =
    (&'static str, std::ops::Range<f64>, bool, fn(f64) -> f64, fn(f64) -> dashu_float::FBig);

/// Sampled functions of `f64`.
const DOUBLES: &[Double] = &[
    ("exp", -700.0..709.0, false, Math::exp, reference::exp),
    ("ln", 1e-300..1e300, true, Math::ln, reference::ln),
    ("ln near 1", 0.5..2.0, false, Math::ln, reference::ln),
    ("tanh", 1e-6..20.0, true, Math::tanh, reference::tanh),
    ("sigmoid", -700.0..30.0, false, Math::sigmoid, reference::wide_sigmoid),
];

#[test]
fn errors_are_those_of_the_page() {
    let campaign = Campaign::new(
        "arguments of functions of f32",
        FUNCTIONS.len() as u64 * ((1 << 32) / (STEP * SAMPLE)),
        FUNCTIONS.len() as u64 * ((1 << 32) / STEP),
    );
    let step = if is_long() { STEP } else { STEP * SAMPLE };
    // In parts, so that all cores have work to the end.
    const PARTS: u64 = 64;
    let parts: Vec<(usize, u64)> =
        (0..FUNCTIONS.len()).flat_map(|f| (0..PARTS).map(move |part| (f, part))).collect();
    let found = campaign.each(&parts, |&(f, part)| {
        let size = (1u64 << 32) / PARTS;
        (FUNCTIONS[f].single)(
            (part * size).next_multiple_of(step)..(part + 1) * size,
            step as usize,
        )
    });
    let mut rows = Vec::new();
    for (i, function) in FUNCTIONS.iter().enumerate() {
        let parts = &found[i * PARTS as usize..(i + 1) * PARTS as usize];
        let single = parts.iter().fold(Worst::default(), |all, one| all.and(*one));
        rows.push((function.name, [single, (function.f16)(), (function.bf16)()]));
    }
    let cases = if is_long() { 1 << 24 } else { 1 << 18 };
    let powf = worst_of_powf(cases);
    let double_cases = if is_long() { 40_000 } else { 2_000 };
    let doubles: Vec<_> = DOUBLES
        .iter()
        .map(|&(name, ref range, logarithmic, f, exact)| {
            (name, range, worst_of_double(double_cases, range.clone(), logarithmic, f, exact))
        })
        .collect();

    if is_long() {
        let mut page = String::from(HEAD);
        page +=
            "| function | `f32` | at | absolute | `f16` | `bf16` |\n|---|---|---|---|---|---|\n";
        for (name, [single, f16, bf16]) in &rows {
            let _ = writeln!(
                page,
                "| `{name}` | {} | {:e} | 2^{:.2} | {} | {} |",
                shown(single.ulps),
                single.at,
                single.absolute.log2(),
                shown(f16.ulps),
                shown(bf16.ulps)
            );
        }
        let _ = writeln!(
            page,
            "| `powf` (2²⁴ random pairs) | {} | {:e} | | | |",
            shown(powf.ulps),
            powf.at
        );
        page += DOUBLE_HEAD;
        for (name, range, worst) in &doubles {
            let _ = writeln!(
                page,
                "| `{name}` | {:e} to {:e} | {} |",
                range.start,
                range.end,
                shown(worst.ulps)
            );
        }
        page += TAIL;
        if std::env::var_os("BATON_BLESS").is_some() {
            fs::write(root().join(FILE), &page).expect("the page is written");
        }
        let present = fs::read_to_string(root().join(FILE)).unwrap_or_default();
        assert!(
            present == page,
            "{FILE} says otherwise; BATON_LONG=1 BATON_BLESS=1 writes it\n{page}"
        );
        return;
    }
    // A sample is no worse than the whole, and f16 and bf16 are whole each time.
    let page = fs::read_to_string(root().join(FILE)).expect("the page is there");
    let cells = |name: &str| -> Vec<String> {
        let begin = format!("| `{name}`");
        let line = page.lines().find(|line| line.starts_with(&begin));
        let line = line.unwrap_or_else(|| panic!("{FILE} has no row of {name}"));
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| panic!("`{text}` in {FILE}"));
    for (name, [single, f16, bf16]) in &rows {
        let cells = cells(name);
        assert!(single.ulps <= number(&cells[2]), "{name} in f32: {single:?}");
        assert_eq!(
            [shown(f16.ulps), shown(bf16.ulps)],
            [cells[5].clone(), cells[6].clone()],
            "{name}"
        );
    }
    assert!(powf.ulps <= number(&cells("powf")[2]), "powf: {powf:?}");
    for (name, _, worst) in &doubles {
        let row =
            page.lines().rfind(|line| line.starts_with(&format!("| `{name}` |"))).expect("a row");
        assert!(
            worst.ulps <= number(row.split('|').nth(3).unwrap_or("").trim()),
            "{name} in f64: {worst:?}"
        );
    }
}

const HEAD: &str = "\
<!-- Generated: BATON_LONG=1 BATON_BLESS=1 cargo test --release -p baton-tests --test maths -->
# Errors of the functions in `baton::math`

`Math`'s functions are made of operations that IEEE 754 rounds. So what is measured on one machine holds on all: the test
`device_and_host_agree_to_the_last_bit` compares the host's values with the emulator's, which rounds as the ISA says. No GPU has been asked.

Worst distance from the exact value, in units of the last place of the exact value, rounded up in the third decimal. `f32`: every 61st
of the 2³² arguments (not all), against `f64` functions of the host's C library (or, for `erf` and `gelu`, a series and a continued fraction in
`f64`); NaN and infinities have to come out as there. `f16` and `bf16`: every argument. 0.5 is the best that there is. *Absolute*: the greatest difference in `f32`
where the value is at most 1.

";

const DOUBLE_HEAD: &str = "
`gelu` cancels below −1, where its values are small: its error is one of the last place of 1 + erf, and not of the result. `gelu_tanh` has no
such cancellation; where its values, and those of `silu`, are near the least number, the last place is large beside them.

`f64`: 40,000 random arguments, against 128 bits.

| function | arguments | `f64` |
|---|---|---|
";

const TAIL: &str = "
# The hardware's approximations

What the ISA promises for them (9.7.3, 9.7.4) stands at each method of `Approx`. The emulator and the host give the exact value,
rounded: an error that is measured there is not a GPU's.
";
