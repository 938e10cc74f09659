//! What nvcc makes of ordinary CUDA C++ (`cuda/kernels.cu`), with results that Rust computes.

use baton_emulator::{Launch, Machine, Options, Program};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{Float8E4M3FN, Float8E5M2, Single};

const PTX: &str = include_str!("cuda/kernels.ptx");

/// Runs a kernel on buffers and scalars; gives the last buffer, under several seeds.
fn run(
    kernel: &str,
    grid: [u32; 3],
    block: [u32; 3],
    buffers: &[Vec<u8>],
    scalars: &[u32],
) -> Vec<Vec<u8>> {
    let program = Program::load(PTX, "kernels.ptx", None).expect("it loads");
    assert_eq!(program.unknown().count(), 0);
    (0..5)
        .map(|seed| {
            let mut machine = Machine::new(Options { seed, ..Options::default() });
            let mut params = Vec::new();
            let mut last = 0;
            for buffer in buffers {
                last = machine.alloc(buffer.len() as u64, 256).expect("memory");
                machine.write(last, buffer).expect("memory");
                params.push(last.to_le_bytes().to_vec());
            }
            params.extend(scalars.iter().map(|s| s.to_le_bytes().to_vec()));
            let launch = Launch { kernel: kernel.into(), grid, block, params, ..Launch::default() };
            if let Err(error) = machine.launch(&program, &launch) {
                panic!("{error}");
            }
            let mut out = vec![0; buffers.last().map_or(0, Vec::len)];
            machine.read(last, &mut out).expect("memory");
            out
        })
        .collect()
}

fn bytes<const N: usize, T: Copy>(values: &[T], to: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|v| to(*v)).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    words(bytes).into_iter().map(f32::from_bits).collect()
}

fn numbers(count: usize) -> impl Iterator<Item = u64> {
    let mut seed = 9u64;
    (0..count).map(move |_| {
        seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        seed ^ seed >> 29
    })
}

#[test]
fn sums_and_products() {
    let x: Vec<f32> = numbers(3000).map(|v| (v % 17) as f32 - 8.0).collect();
    let input = bytes(&x, f32::to_le_bytes);
    for out in run("sum", [3, 1, 1], [256, 1, 1], &[input, vec![0; 4]], &[3000]) {
        assert_eq!(floats(&out), [x.iter().sum::<f32>()]);
    }
    let n = 48;
    let [a, b]: [Vec<f32>; 2] =
        [3, 5].map(|m| numbers(n * n).map(|v| (v % m) as f32 - 1.0).collect());
    let expected: Vec<f32> =
        (0..n * n).map(|at| (0..n).map(|k| a[at / n * n + k] * b[k * n + at % n]).sum()).collect();
    let buffers = [bytes(&a, f32::to_le_bytes), bytes(&b, f32::to_le_bytes), vec![0; 4 * n * n]];
    for out in run("matmul", [3, 3, 1], [16, 16, 1], &buffers, &[n as u32]) {
        assert_eq!(floats(&out), expected);
    }
}

#[test]
fn histograms() {
    let x: Vec<u8> = numbers(2000).map(|v| (v % 40 * v % 200) as u8).collect();
    let mut expected = [0; 256];
    x.iter().for_each(|v| expected[usize::from(*v)] += 1);
    for out in run("histogram", [2, 1, 1], [128, 1, 1], &[x, vec![0; 1024]], &[2000]) {
        assert_eq!(words(&out), expected);
    }
}

#[test]
fn calls_and_wide_arithmetic() {
    let a: Vec<u64> = numbers(100).collect();
    let b: Vec<u64> = numbers(200).skip(100).map(|v| v >> (v % 50)).collect();
    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    let expected: Vec<u64> = (0..100)
        .flat_map(|i| {
            let p = u128::from(a[i]) * u128::from(b[i]);
            let q = (a[i] as i64).wrapping_div((b[i] | 1) as i64);
            let called = if i % 2 == 0 { 3 * i } else { i * i };
            let local = (0..16).find(|k| (k * 7 + i) % 16 == i % 16).unwrap_or(0);
            [gcd(a[i], b[i]), (p >> 64) as u64 ^ p as u64, q as u64, (called + local) as u64]
        })
        .collect();
    let buffers = [bytes(&a, u64::to_le_bytes), bytes(&b, u64::to_le_bytes), vec![0; 3200]];
    for out in run("calls", [1, 1, 1], [128, 1, 1], &buffers, &[100]) {
        assert_eq!(out, bytes(&expected, u64::to_le_bytes));
    }
}

#[test]
fn narrow_floats() {
    // Multiples of a quarter: every format but the 8-bit ones holds what becomes of them.
    let x: Vec<f32> = (0..62).map(|i| (i - 31) as f32 / 4.0).collect();
    let expected: Vec<f32> = x
        .iter()
        .flat_map(|&v| {
            let mut lost = false;
            let single = Single::from_bits(v.to_bits().into());
            use rustc_apfloat::FloatConvert;
            let f: Float8E4M3FN = single.convert(&mut lost).value;
            let g: Float8E5M2 = single.convert(&mut lost).value;
            let (f, g): (Single, Single) = (f.convert(&mut lost).value, g.convert(&mut lost).value);
            let value = |s: Single| f32::from_bits(s.to_bits() as u32);
            [
                v * v + 1.0 + v * v / 4.0 + 1.0,
                (v + 2.0).max(2.0 - v),
                value(f) + value(g),
                v.clamp(-8.0, 8.0).floor().exp2(),
            ]
        })
        .collect();
    for out in
        run("narrow", [1, 1, 1], [128, 1, 1], &[bytes(&x, f32::to_le_bytes), vec![0; 992]], &[62])
    {
        assert_eq!(floats(&out), expected);
    }
}

#[test]
fn integer_intrinsics() {
    let x: Vec<u32> = numbers(64).map(|v| v as u32 >> (v % 30)).collect();
    let each = |v: u32, w: u32, f: fn(u8, u8) -> u8| {
        let (v, w) = (v.to_le_bytes(), w.to_le_bytes());
        u32::from_le_bytes(std::array::from_fn(|i| f(v[i], w[i])))
    };
    let expected: Vec<u32> = x
        .iter()
        .zip(0u32..)
        .flat_map(|(&v, i)| {
            let ffs = if v == 0 { 0 } else { v.trailing_zeros() + 1 };
            let picked = |selector: u32| {
                let all = u64::from(!v) << 32 | u64::from(v);
                (0..4).fold(0, |word, k| {
                    word | ((all >> (8 * (selector >> (4 * k) & 7))) as u32 & 0xFF) << (8 * k)
                })
            };
            let funnel = ((u64::from(i) << 32 | u64::from(v)) << 7 >> 32) as u32;
            let dot = (0..4).fold(i, |sum, k| {
                let byte = |w: u32| i32::from(w.to_le_bytes()[k] as i8);
                sum.wrapping_add((byte(v) * byte(!v)) as u32)
            });
            let low24 = |w: u32| (w << 8) as i32 >> 8;
            let rz = {
                // The nearest float, or the one below it in magnitude if it went too far.
                let nearest = v as i32 as f32;
                let exact = i64::from(v as i32);
                if (nearest as i64).abs() > exact.abs() {
                    f32::from_bits(nearest.to_bits() - 1)
                } else {
                    nearest
                }
            };
            let scaled = (v as f32 * 1e-3f32).floor() as i32;
            [
                v.reverse_bits() ^ v.leading_zeros() ^ v.count_ones() ^ ffs,
                picked(0x3175).wrapping_add(funnel),
                dot,
                each(v, 0x0102_0304, u8::wrapping_add) ^ each(v, 0x4040_4040, u8::max),
                ((u64::from(v) * 0x9E37_79B9) >> 32) as u32
                    + (low24(v).wrapping_mul(77) as u32)
                        .wrapping_add((v as i32).abs_diff(i as i32).wrapping_add(5)),
                rz.to_bits().wrapping_add(scaled as u32),
                (v / (i + 1)).wrapping_add(((v as i32) % (i as i32 + 3)) as u32),
                if v > 5 && v & 3 == 1 { each(v, 0x55AA_55AA, u8::abs_diff) } else { v & 0xFF },
            ]
        })
        .collect();
    let input = bytes(&x, u32::to_le_bytes);
    for out in run("bits", [1, 1, 1], [64, 1, 1], &[input, vec![0; 2048]], &[64]) {
        assert_eq!(words(&out), expected);
    }
}

#[test]
fn tensor_cores_and_asynchronous_copies() {
    // Halves of -3 to 3: sign, exponent and fraction by hand.
    let half = |v: i32| {
        [0u16, 0x3C00, 0x4000, 0x4200][v.unsigned_abs() as usize] | if v < 0 { 0x8000 } else { 0 }
    };
    let a: Vec<i32> = numbers(256).map(|v| (v % 7) as i32 - 3).collect();
    let b: Vec<i32> = numbers(400).skip(272).map(|v| (v % 7) as i32 - 3).collect();
    let encoded = |m: &[i32]| m.iter().flat_map(|v| half(*v).to_le_bytes()).collect::<Vec<u8>>();
    let expected: Vec<f32> = (0..128)
        .map(|at| (0..16).map(|k| a[at / 8 * 16 + k] * b[at % 8 * 16 + k]).sum::<i32>() as f32)
        .collect();
    for out in run("tensor", [1, 1, 1], [32, 1, 1], &[encoded(&a), encoded(&b), vec![0; 512]], &[])
    {
        assert_eq!(floats(&out), expected);
    }
    let x: Vec<f32> = numbers(512).map(|v| (v % 1000) as f32 / 8.0 - 60.0).collect();
    let copied =
        |block: usize, i: usize| if i.is_multiple_of(5) { 0.0 } else { x[256 * block + i] };
    let expected: Vec<f64> = (0..512)
        .map(|at| {
            let (block, thread) = (at / 256, at % 256);
            let v = |t: usize| copied(block, 255 - t);
            let warp = || (thread / 32 * 32..thread / 32 * 32 + 32).map(v);
            let most = warp().fold(f32::MIN, f32::max);
            let all: i32 = warp().map(|v| v as i32).sum();
            let own = f64::from(v(thread));
            // Towards zero: the nearest quotient, or the one before it.
            let third = own / 3.0;
            let over = (-third).mul_add(3.0, own);
            let third = if over != 0.0 && (over < 0.0) == (third > 0.0) {
                f64::from_bits(third.to_bits() - 1)
            } else {
                third
            };
            own.abs().sqrt() + third + f64::from(most) + f64::from(all)
        })
        .collect();
    for out in
        run("mixed", [2, 1, 1], [256, 1, 1], &[bytes(&x, f32::to_le_bytes), vec![0; 4096]], &[512])
    {
        assert_eq!(out, bytes(&expected, f64::to_le_bytes));
    }
}
