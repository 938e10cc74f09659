//! Values of `tcgen05` against sums of small whole numbers: every kind, pairs of CTAs, factors of
//! blocks, weight-stationary products, copies, shifts and reducing loads. Layouts are written here
//! from the figures of the PTX ISA (9.7.16), encodings of 6 and 4 bits from the tables of the OCP
//! Microscaling Formats; the other encodings come from a soft-float library.

mod common;

use common::{Shape, module, module_for, run};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Float8E4M3FN, Float8E5M2, Half, Single};
use std::fmt::Write;

/// Columns of tensor memory that a test sees, and bytes of shared memory.
const COLUMNS: usize = 128;
const SHARED: usize = 16 << 10;
/// Where B and the factors begin in shared memory.
const B_AT: usize = 4 << 10;

const E2M3: [f64; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// The code of a whole number in a format of 6 or 4 bits.
fn small(ty: &str, value: i32) -> u8 {
    let magnitude = f64::from(value.abs());
    let (codes, sign): (Vec<(u8, f64)>, u8) = match ty {
        "e2m1" => ([0, 2, 4, 5, 6, 7].into_iter().zip([0.0, 1.0, 2.0, 3.0, 4.0, 6.0]).collect(), 8),
        "e2m3" => ([0, 8, 16, 20, 24, 26, 28, 30].into_iter().zip(E2M3).collect(), 32),
        _ => ([0, 12, 16, 18, 20, 21, 22, 23].into_iter().zip(E2M3).collect(), 32),
    };
    let code = codes.iter().find(|c| c.1 == magnitude).expect("a value of the table").0;
    code | if value < 0 { sign } else { 0 }
}

/// Bytes of one row of 32 bytes.
fn row_bytes(ty: &str, values: &[i32]) -> Vec<u8> {
    let bits = match ty {
        "e2m1" | "packed" => 4,
        "e2m3" | "e3m2" => 6,
        _ => 8,
    };
    let v = |x: &i32| i128::from(*x);
    match ty {
        "f16" => values
            .iter()
            .flat_map(|x| (Half::from_i128(v(x)).value.to_bits() as u16).to_le_bytes())
            .collect(),
        "bf16" => values
            .iter()
            .flat_map(|x| (BFloat::from_i128(v(x)).value.to_bits() as u16).to_le_bytes())
            .collect(),
        "tf32" => values
            .iter()
            .flat_map(|x| (Single::from_i128(v(x)).value.to_bits() as u32).to_le_bytes())
            .collect(),
        "e4m3" => {
            values.iter().map(|x| Float8E4M3FN::from_i128(v(x)).value.to_bits() as u8).collect()
        }
        "e5m2" => {
            values.iter().map(|x| Float8E5M2::from_i128(v(x)).value.to_bits() as u8).collect()
        }
        "u8" | "s8" => values.iter().map(|x| *x as u8).collect(),
        "packed" => {
            values.chunks(2).map(|x| small("e2m1", x[0]) | small("e2m1", x[1]) << 4).collect()
        }
        // Sixteen together, then padding up to sixteen bytes.
        ty => values
            .chunks(16)
            .flat_map(|group| {
                let all = group
                    .iter()
                    .enumerate()
                    .fold(0u128, |all, (i, &x)| all | u128::from(small(ty, x)) << (bits * i));
                all.to_le_bytes()
            })
            .collect(),
    }
}

/// Numbers that the type holds exactly.
fn values(ty: &str, seed: u32, count: usize) -> Vec<i32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
    let from: Vec<i32> = match ty {
        "u8" => (0..=200).collect(),
        "s8" => (-100..=100).collect(),
        "e2m1" | "packed" => vec![-6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6],
        _ => (-3..=3).collect(),
    };
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            from[state as usize % from.len()]
        })
        .collect()
}

/// Puts rows of 32 bytes into shared memory: K innermost, core matrices of 8 × 16 bytes.
fn place(shared: &mut [u8], at: usize, rows: &[Vec<u8>]) {
    for (row, bytes) in rows.iter().enumerate() {
        for (i, &byte) in bytes.iter().enumerate() {
            shared[at + row % 8 * 16 + row / 8 * 128 + i / 16 * (rows.len() * 16) + i % 16] = byte;
        }
    }
}

/// PTX that makes a descriptor of such rows.
fn descriptor(register: &str, at: usize, rows: usize) -> String {
    let fields = (rows as u64) << 16 | 8 << 32 | 1 << 46;
    format!(
        "add.u32 %r9, %r2, {at}; shr.u32 %r9, %r9, 4; cvt.u64.u32 {register}, %r9; or.b64 {register}, {register}, {fields};\n"
    )
}

/// Runs `issue` in thread 0 of the first CTA, on shared and tensor memory with these contents.
/// `%r1` holds the address of tensor memory, `%r2` that of shared memory. Gives tensor memory.
fn on_tensor_memory(
    shared: &[Vec<u8>],
    tensor: &[Vec<u32>],
    issue: &str,
    behind: &str,
) -> Vec<Vec<u32>> {
    let ctas = shared.len();
    let group = ctas;
    let list = (0..32).map(|i| format!("%c{i}")).collect::<Vec<_>>().join(", ");
    let mut body = String::from(".reg .b32 %c<32>; .reg .b32 %w;\n");
    let _ = write!(
        body,
        "mov.u32 %r0, %tid.x; mov.u32 %r2, smem; mov.u32 %r3, bar; mov.u32 %r4, slot; shr.u32 %w, %r0, 5;
         mov.u32 %r5, %cluster_ctarank; mul.wide.u32 %d0, %r5, {SHARED}; add.u64 %d0, %a0, %d0;
         mul.wide.u32 %d1, %r5, {per}; add.u64 %d1, %a1, %d1; mul.wide.u32 %d2, %r0, {line}; add.u64 %d1, %d1, %d2;
         setp.ne.u32 %p0, %r0, 0; @%p0 bra I; mbarrier.init.shared::cta.b64 [%r3], 1;
         fence.mbarrier_init.release.cluster; I:
         setp.ne.u32 %p1, %w, 0; @%p1 bra A;
         tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [%r4], {COLUMNS}; A:
         mul.wide.u32 %d2, %r0, 16; add.u64 %d0, %d0, %d2; cvt.u32.u64 %r6, %d2; add.u32 %r6, %r2, %r6; mov.u32 %r7, 0;
         L: ld.global.v4.b32 {{%c0, %c1, %c2, %c3}}, [%d0]; st.shared.v4.b32 [%r6], {{%c0, %c1, %c2, %c3}};
         add.u64 %d0, %d0, 2048; add.u32 %r6, %r6, 2048; add.u32 %r7, %r7, 2048;
         setp.lt.u32 %p2, %r7, {SHARED}; @%p2 bra L;
         fence.proxy.async; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
         ld.shared.b32 %r1, [%r4]; shl.b32 %r8, %w, 21; add.u32 %r8, %r8, %r1;\n",
        per = 128 * COLUMNS * 4,
        line = COLUMNS * 4,
    );
    for block in 0..COLUMNS / 32 {
        for i in 0..32 {
            let _ = writeln!(body, "ld.global.b32 %c{i}, [%d1+{}];", 4 * (32 * block + i));
        }
        let _ = writeln!(
            body,
            "tcgen05.st.sync.aligned.32x32b.x32.b32 [%r8+{}], {{{list}}};",
            32 * block
        );
    }
    let multicast = if ctas == 2 { ".multicast::cluster" } else { "" };
    let mask = if ctas == 2 { ", %h0" } else { "" };
    let _ = write!(
        body,
        "tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync;
         barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; tcgen05.fence::after_thread_sync;
         setp.ne.u32 %p3, %r5, 0; or.pred %p3, %p3, %p0; @%p3 bra W; mov.u16 %h0, 3;
         {issue}
         tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster{multicast}.b64 [%r3]{mask};
         W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r3], 0; @!%p4 bra W;
         tcgen05.fence::after_thread_sync;
         {behind}\n"
    );
    for block in 0..COLUMNS / 32 {
        let _ = writeln!(
            body,
            "tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{list}}}, [%r8+{}]; tcgen05.wait::ld.sync.aligned;",
            32 * block
        );
        for i in 0..32 {
            let _ = writeln!(body, "st.global.b32 [%d1+{}], %c{i};", 4 * (32 * block + i));
        }
    }
    let _ = write!(
        body,
        "tcgen05.fence::before_thread_sync; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
         @%p1 bra E; tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %r1, {COLUMNS}; E: ret;"
    );
    let target = if behind.contains(".ld.red.") { "sm_103a" } else { "sm_100a" };
    let text = module_for(
        target,
        &format!(
            ".shared .align 1024 .b8 smem[{SHARED}]; .shared .align 8 .b64 bar; .shared .b32 slot;"
        ),
        3,
        &body,
    );
    let words = tensor.concat();
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let shape = Shape { grid: ctas as u32, block: 128, cluster: ctas as u32, ..Shape::default() };
    let found = run(&text, &shape, &[&shared.concat(), &bytes, &[0; 4096]]);
    let all = found.words(1, words.len());
    let extra = found.words(2, 1024);
    let mut result: Vec<Vec<u32>> = all.chunks(128 * COLUMNS).map(<[u32]>::to_vec).collect();
    result.push(extra);
    result
}

/// A kind, its element types, their codes in the instruction descriptor, and that of D.
type Kind = (&'static str, &'static str, &'static str, u32, u32, u32);

const KINDS: [Kind; 14] = [
    ("f16", "f16", "f16", 0, 0, 1),
    ("f16", "bf16", "bf16", 1, 1, 1),
    ("f16", "f16", "f16", 0, 0, 0),
    ("tf32", "tf32", "tf32", 2, 2, 1),
    ("f8f6f4", "e4m3", "e5m2", 0, 1, 1),
    ("f8f6f4", "e5m2", "e4m3", 1, 0, 0),
    ("f8f6f4", "e2m3", "e3m2", 3, 4, 1),
    ("f8f6f4", "e3m2", "e2m1", 4, 5, 1),
    ("f8f6f4", "e2m1", "e2m3", 5, 3, 1),
    ("f8f6f4", "e2m1", "e4m3", 5, 0, 0),
    ("i8", "u8", "u8", 0, 0, 2),
    ("i8", "u8", "s8", 0, 1, 2),
    ("i8", "s8", "u8", 1, 0, 2),
    ("i8", "s8", "s8", 1, 1, 2),
];

/// Where element (row, column) of D is: CTA, lane, column.
fn cell(form: &str, m: usize, n: usize, row: usize, column: usize) -> (usize, usize, usize) {
    match (form, m) {
        ("pair", 256) => (row / 128, row % 128, column),
        ("pair", _) => (row / 64, row % 64 + 64 * (column / (n / 2)), column % (n / 2)),
        ("ws", 64) => (0, row + 64 * (column / (n / 2)), column % (n / 2)),
        ("ws", 32) => (0, row + 32 * (column / (n / 4)), column % (n / 4)),
        ("one", 64) => (0, row / 16 * 32 + row % 16, column),
        _ => (0, row, column),
    }
}

fn d_bits(code: u32, value: i64) -> u32 {
    match code {
        0 => Half::from_i128(value.into()).value.to_bits() as u32,
        1 => Single::from_i128(value.into()).value.to_bits() as u32,
        _ => value as u32,
    }
}

/// Whether a lane of a CTA is left as it is.
type Keeps = fn(usize, usize) -> bool;

struct Product {
    kind: Kind,
    form: &'static str,
    m: usize,
    n: usize,
    accumulate: bool,
    /// Further operands, such as a mask of lanes, and lanes that it leaves as they are.
    mask: Option<(&'static str, Keeps)>,
    scale: u32,
    a_in_tensor: bool,
    shift: bool,
}

const D_AT: usize = 32;

fn check(p: &Product) {
    let (kind, a_type, b_type, a_code, b_code, d_code) = p.kind;
    let (m, n) = (p.m, p.n);
    let k = match kind {
        "tf32" => 8,
        "f16" => 16,
        _ => 32,
    };
    let ctas = if p.form == "pair" { 2 } else { 1 };
    let a = values(a_type, 5, m * k);
    let b = values(b_type, 9, n * k);
    // Whole numbers that stay whole when scaled.
    let c: Vec<i64> = values("s8", 3, m * n).into_iter().map(|v| i64::from(v) << p.scale).collect();
    let rows = |ty: &str, all: &[i32], count: usize, part: usize| -> Vec<Vec<u8>> {
        all.chunks(k).skip(part * count).take(count).map(|row| row_bytes(ty, row)).collect()
    };
    let mut shared = vec![vec![0u8; SHARED]; ctas];
    let mut tensor = vec![vec![0u32; 128 * COLUMNS]; ctas];
    for (part, (shared, tensor)) in shared.iter_mut().zip(&mut tensor).enumerate() {
        let of_a = rows(a_type, &a, m / ctas, part);
        if p.a_in_tensor {
            for (row, bytes) in of_a.iter().enumerate() {
                let lane = cell(p.form, m, n, row, 0).1;
                // Each element of 6 or 4 bits in a byte: at the bottom, or above two zeros.
                let bytes: Vec<u8> = match a_type {
                    "e2m3" | "e3m2" => a[(part * m / ctas + row) * k..][..k]
                        .iter()
                        .map(|&v| small(a_type, v))
                        .collect(),
                    "e2m1" => a[(part * m / ctas + row) * k..][..k]
                        .iter()
                        .map(|&v| small(a_type, v) << 2)
                        .collect(),
                    _ => bytes.clone(),
                };
                for (i, word) in bytes.chunks(4).enumerate() {
                    tensor[lane * COLUMNS + i] =
                        u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                }
            }
        } else {
            place(shared, 0, &of_a);
        }
        place(shared, B_AT, &rows(b_type, &b, n / ctas, part));
    }
    for row in 0..m {
        for column in 0..n {
            let (cta, lane, at) = cell(p.form, m, n, row, column);
            tensor[cta][lane * COLUMNS + D_AT + at] = d_bits(d_code, c[row * n + column]);
        }
    }
    let mut expected = tensor.clone();
    for row in 0..m {
        let of_a = if p.shift { (row + 1).min(m - 1) } else { row };
        for column in 0..n {
            let (cta, lane, at) = cell(p.form, m, n, row, column);
            if p.mask.is_some_and(|(_, keeps)| keeps(cta, lane)) {
                continue;
            }
            let sum: i64 = (0..k).map(|i| i64::from(a[of_a * k + i] * b[column * k + i])).sum();
            let before = if p.accumulate { c[row * n + column] >> p.scale } else { 0 };
            expected[cta][lane * COLUMNS + D_AT + at] = d_bits(d_code, sum + before);
        }
    }
    let group = if ctas == 2 { 2 } else { 1 };
    let idesc =
        d_code << 4 | a_code << 7 | b_code << 10 | ((n as u32) / 8) << 17 | ((m as u32) / 16) << 24;
    let mut issue = descriptor("%d4", 0, m / ctas) + &descriptor("%d5", B_AT, n / ctas);
    let ws = if p.form == "ws" { ".ws" } else { "" };
    let shift = if p.shift { ".ashift" } else { "" };
    let left = if p.a_in_tensor { "[%r1]" } else { "%d4" };
    let mask = p.mask.map_or(String::new(), |m| format!("{}, ", m.0));
    let scale = if p.scale > 0 { format!(", {}", p.scale) } else { String::new() };
    let _ = write!(
        issue,
        "setp.ne.u32 %p5, {}, 0; tcgen05.mma{ws}.cta_group::{group}.kind::{kind}{shift} [%r1+{D_AT}], {left}, %d5, {idesc}, {mask}%p5{scale};",
        u32::from(p.accumulate)
    );
    let found = on_tensor_memory(&shared, &tensor, &issue, "");
    for cta in 0..ctas {
        let wrong = found[cta].iter().zip(&expected[cta]).position(|(x, y)| x != y);
        if let Some(i) = wrong {
            panic!(
                "{:?} {} m{m} n{n}: CTA {cta} lane {} column {}: {:#x}, not {:#x}",
                p.kind,
                p.form,
                i / COLUMNS,
                i % COLUMNS,
                found[cta][i],
                expected[cta][i]
            );
        }
    }
}

const BASE: Product = Product {
    kind: KINDS[0],
    form: "one",
    m: 128,
    n: 64,
    accumulate: true,
    mask: None,
    scale: 0,
    a_in_tensor: false,
    shift: false,
};

#[test]
fn every_kind() {
    for kind in KINDS {
        for (m, n) in [(64, 8), (128, 16), (128, 96)] {
            check(&Product { kind, m, n, accumulate: n != 16, ..BASE });
        }
    }
}

#[test]
fn a_in_tensor_memory() {
    for kind in KINDS {
        for m in [64, 128] {
            check(&Product { kind, m, n: 32, a_in_tensor: true, ..BASE });
        }
        check(&Product { kind, form: "pair", m: 256, n: 32, a_in_tensor: true, ..BASE });
    }
    check(&Product { n: 32, a_in_tensor: true, shift: true, ..BASE });
}

#[test]
fn pairs_of_ctas() {
    for kind in KINDS {
        for (m, n) in [(128, 32), (128, 64), (256, 32), (256, 96)] {
            check(&Product { kind, form: "pair", m, n, accumulate: n != 64, ..BASE });
        }
    }
}

#[test]
fn weight_stationary() {
    for kind in KINDS {
        for m in [32, 64, 128] {
            check(&Product { kind, form: "ws", m, ..BASE });
        }
    }
}

/// A sparse A: the zeros are given by metadata in tensor memory.
fn check_sparse((kind, a_type, b_type, a_code, b_code, d_code): Kind, form: &str, selector: usize) {
    const METADATA_AT: usize = 16;
    const FACTORS_AT: [usize; 2] = [20, 24];
    let (m, n) = (if form == "pair" { 256 } else { 128 }, 64);
    let ctas = m / 128;
    let scaled = kind.starts_with("mx");
    // Elements of a group, those of it that are stored, and stored ones of a row.
    let (group, some, stored) = match kind {
        "tf32" => (2, 1, 8),
        "f16" => (4, 2, 16),
        "mxf4" => (8, 4, 64),
        _ => (4, 2, 32),
    };
    let k = 2 * stored;
    let held = values(a_type, 5, m * stored);
    let b = values(b_type, 9, n * k);
    let choices = values("u8", 77, m * k / group);
    let mut whole = vec![0; m * k];
    let mut tensor = vec![vec![0u32; 128 * COLUMNS]; ctas];
    for (g, &choice) in choices.iter().enumerate() {
        let (row, group_of_row) = (g / (k / group), g % (k / group));
        let (bits, places) = match (some, choice % 6) {
            (1, c) if c < 3 => (0b0100, vec![0]),
            (1, _) => (0b1110, vec![1]),
            (_, c) => {
                let [x, y] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]][c as usize];
                let places = match some {
                    2 => vec![x, y],
                    _ => vec![2 * x, 2 * x + 1, 2 * y, 2 * y + 1],
                };
                ((y << 2 | x) as u32, places)
            }
        };
        for (i, place) in places.into_iter().enumerate() {
            whole[row * k + group_of_row * group + place] = held[g * some + i];
        }
        let (block, half, line) = (row % 128 / 16, row / 8 % 2, row % 8);
        let (lane, column, bit) = match kind {
            "tf32" | "f16" => (
                16 * block + 8 * (group_of_row / 4) + line,
                selector,
                16 * half + 4 * (group_of_row % 4),
            ),
            _ => (row % 128, group_of_row / 8, 4 * (group_of_row % 8)),
        };
        tensor[row / 128][lane * COLUMNS + METADATA_AT + column] |= bits << bit;
    }
    let mut shared = vec![vec![0u8; SHARED]; ctas];
    for (part, shared) in shared.iter_mut().enumerate() {
        let of_a = held.chunks(stored).skip(part * 128).take(128);
        place(shared, 0, &of_a.map(|row| row_bytes(a_type, row)).collect::<Vec<_>>());
        let of_b = b.chunks(k).skip(part * n / ctas).take(n / ctas);
        place(shared, B_AT, &of_b.map(|row| row_bytes(b_type, row)).collect::<Vec<_>>());
    }
    for tensor in &mut tensor {
        for lane in 0..128 {
            // All factors are one.
            tensor[lane * COLUMNS..][FACTORS_AT[0]..FACTORS_AT[1] + 4].fill(0x7F7F_7F7F);
        }
    }
    let mut expected = tensor.clone();
    for row in 0..m {
        for column in 0..n {
            let products = (0..k).map(|i| i64::from(whole[row * k + i] * b[column * k + i]));
            let (cta, lane, at) = cell(form, m, n, row, column);
            expected[cta][lane * COLUMNS + D_AT + at] = d_bits(d_code, products.sum());
        }
    }
    let size = if scaled {
        1 << 23 | ((m / 128) as u32) << 27
    } else {
        d_code << 4 | (m as u32 / 16) << 24
    };
    let idesc = 4 | selector as u32 | a_code << 7 | b_code << 10 | (n as u32 / 8) << 17 | size;
    let mut issue = descriptor("%d4", 0, 128) + &descriptor("%d5", B_AT, n / ctas);
    let ws = if form == "ws" { ".ws" } else { "" };
    let block_scale = if scaled { ".block_scale" } else { "" };
    let [of_a, of_b] = FACTORS_AT;
    let factors = if scaled { format!(", [%r1+{of_a}], [%r1+{of_b}]") } else { String::new() };
    let _ = write!(
        issue,
        "setp.ne.u32 %p5, 0, 0; tcgen05.mma{ws}.sp.cta_group::{ctas}.kind::{kind}{block_scale} [%r1+{D_AT}], %d4, %d5, \
         [%r1+{METADATA_AT}], {idesc}{factors}, %p5;",
    );
    let found = on_tensor_memory(&shared, &tensor, &issue, "");
    for cta in 0..ctas {
        let wrong = found[cta].iter().zip(&expected[cta]).position(|(x, y)| x != y);
        let at = wrong.map(|i| (i / COLUMNS, i % COLUMNS));
        assert_eq!(at, None, "{kind} {a_type} {form}: lane and column in CTA {cta}");
    }
}

#[test]
fn sparse_a() {
    for kind in KINDS {
        check_sparse(kind, "one", 0);
    }
    for kind in [KINDS[0], KINDS[3], KINDS[4], KINDS[13]] {
        check_sparse(kind, "pair", 0);
        check_sparse(kind, "ws", 0);
    }
    for kind in [KINDS[1], KINDS[3]] {
        check_sparse(kind, "one", 1);
    }
    for form in ["one", "pair"] {
        check_sparse(("mxf8f6f4", "e4m3", "e5m2", 0, 1, 1), form, 0);
        check_sparse(("mxf8f6f4", "e2m1", "e2m3", 5, 3, 1), form, 0);
        check_sparse(("mxf4", "packed", "packed", 1, 1, 1), form, 0);
    }
}

/// The text's examples of columns that count as zero: three bits that do, four that do not.
#[test]
fn zero_columns() {
    let starts = |start: &str| -> Vec<bool> {
        let lead = start.chars().map(|c| c == '1');
        let last = start.ends_with('1');
        let (one, other) = (if last { 4 } else { 3 }, if last { 3 } else { 4 });
        let runs = [vec![!last; one], vec![last; other]].concat();
        lead.chain(runs.into_iter().cycle()).take(64).collect()
    };
    // M, the skipped bits, which parts begin with zeros, columns that B is shifted by, and how the parts begin.
    let cases: [(usize, u64, u64, u64, &[&str]); 4] = [
        (128, 0, 0, 0, &["0000"]),
        (64, 0, 0b01, 0, &["111", "0000"]),
        (32, 0x0102_0100, 0b0011, 2, &["111", "11", "00", "000"]),
        (128, 0, 1, 7, &["111"]),
    ];
    for (m, skipped, first, shift, parts) in cases {
        let (n, k) = (64, 16);
        let a = values("f16", 5, m * k);
        let b = values("f16", 9, (n + 8) * k);
        let rows = |all: &[i32]| -> Vec<_> { all.chunks(k).map(|r| row_bytes("f16", r)).collect() };
        let mut shared = vec![vec![0u8; SHARED]];
        place(&mut shared[0], 0, &rows(&a));
        place(&mut shared[0], B_AT, &rows(&b));
        let width = n / parts.len();
        let zeros = parts.iter().flat_map(|part| starts(part).into_iter().take(width));
        let zeros: Vec<bool> = zeros.collect();
        let tensor = vec![vec![0u32; 128 * COLUMNS]];
        let mut expected = tensor.clone();
        for row in 0..m {
            for (column, &zero) in zeros.iter().enumerate() {
                let of_b = column + shift as usize;
                let sum = (0..k).map(|i| i64::from(a[row * k + i] * b[of_b * k + i])).sum();
                let (_, lane, at) = cell("ws", m, n, row, column);
                expected[0][lane * COLUMNS + D_AT + at] = d_bits(1, if zero { 0 } else { sum });
            }
        }
        let mask = skipped | first << 32 | 1 << 39 | 2 << 40 | 3 << 48 | shift << 56;
        let idesc = 1 << 4 | (n as u32 / 8) << 17 | (m as u32 / 16) << 24;
        let mut issue = descriptor("%d4", 0, m) + &descriptor("%d5", B_AT, n + 8);
        let _ = write!(
            issue,
            "setp.ne.u32 %p5, 0, 0; mov.u64 %d6, {mask}; tcgen05.mma.ws.cta_group::1.kind::f16 [%r1+{D_AT}], %d4, %d5, \
             {idesc}, %p5, %d6;"
        );
        let found = on_tensor_memory(&shared, &tensor, &issue, "");
        let wrong = found[0].iter().zip(&expected[0]).position(|(x, y)| x != y);
        assert_eq!(wrong.map(|i| (i / COLUMNS, i % COLUMNS)), None, "m{m}: lane and column");
    }
}

#[test]
fn masks_and_scales() {
    let one =
        Some(("{1, 0x80000000, 0, 7}", (|_, lane| matches!(lane, 0 | 63 | 96..=98)) as Keeps));
    check(&Product { mask: one, ..BASE });
    let two = Some((
        "{1, 0, 0, 0, 0, 2, 0, 0}",
        (|cta, lane| (cta, lane) == (0, 0) || (cta, lane) == (1, 33)) as Keeps,
    ));
    check(&Product { mask: two, form: "pair", m: 256, ..BASE });
    for scale in [1, 4, 15] {
        check(&Product { scale, ..BASE });
        check(&Product { scale, kind: KINDS[3], ..BASE });
    }
}

// ---- factors of blocks ----

/// A block-scaled product: kind, size, element types and codes, blocks of K, ue4m3 factors.
type Scaled = (&'static str, &'static str, &'static str, &'static str, u32, u32, usize, bool);

const SCALED: [Scaled; 8] = [
    ("mxf8f6f4", "", "e4m3", "e5m2", 0, 1, 1, false),
    ("mxf8f6f4", ".scale_vec::1X", "e2m3", "e2m1", 3, 5, 1, false),
    ("mxf8f6f4", ".block32", "e3m2", "e4m3", 4, 0, 1, false),
    ("mxf4", "", "packed", "packed", 1, 1, 2, false),
    ("mxf4", ".block32", "packed", "packed", 1, 1, 2, false),
    ("mxf4nvf4", ".scale_vec::2X", "packed", "packed", 1, 1, 2, false),
    ("mxf4nvf4", ".scale_vec::4X", "packed", "packed", 1, 1, 4, true),
    ("mxf4nvf4", ".block16", "packed", "packed", 1, 1, 4, false),
];

/// Columns of the factors of A and B, in front of D.
const SFA_AT: usize = 0;
const SFB_AT: usize = 8;

fn check_scaled(scaled: Scaled, form: &'static str, m: usize, n: usize, bytes: [usize; 2]) {
    let (kind, size, a_type, b_type, a_code, b_code, blocks, ue4m3) = scaled;
    let k = if kind == "mxf8f6f4" { 32 } else { 64 };
    let ctas = if form == "pair" { 2 } else { 1 };
    let a = values(a_type, 5, m * k);
    let b = values(b_type, 9, n * k);
    // Powers of two, and for ue4m3 also what has a fraction: (value, code).
    let table: Vec<(f64, u32)> = if ue4m3 {
        [1.0, 1.5, 2.0, 0.5, 3.5]
            .iter()
            .map(|v| {
                (
                    *v,
                    Float8E4M3FN::from_bits(Float8E4M3FN::to_bits(
                        format!("{v}").parse::<Float8E4M3FN>().expect("a number"),
                    ))
                    .to_bits() as u32,
                )
            })
            .collect()
    } else {
        (0..5).map(|i| (2f64.powi(i - 2), (127 + i - 2) as u32)).collect()
    };
    let factor = |of: usize, block: usize| table[(of * 7 + block * 3) % table.len()];
    let rows = |ty: &str, all: &[i32], count: usize, part: usize| -> Vec<Vec<u8>> {
        all.chunks(k).skip(part * count).take(count).map(|row| row_bytes(ty, row)).collect()
    };
    let mut shared = vec![vec![0u8; SHARED]; ctas];
    let mut tensor = vec![vec![0u32; 128 * COLUMNS]; ctas];
    for (part, (shared, tensor)) in shared.iter_mut().zip(&mut tensor).enumerate() {
        place(shared, 0, &rows(a_type, &a, m / ctas, part));
        place(shared, B_AT, &rows(b_type, &b, n / ctas, part));
        for quarter in 0..4 {
            let mut put = |at: usize, index: usize, of: usize, byte: usize| {
                let word = &mut tensor[(32 * quarter + index % 32) * COLUMNS + at + index / 32];
                for block in 0..blocks {
                    *word |= factor(of, block).1 << (8 * (byte + block));
                }
            };
            for row in 0..m / ctas {
                put(SFA_AT, row, part * (m / ctas) + row, bytes[0]);
            }
            for column in 0..n {
                put(SFB_AT, column, 1000 + column, bytes[1]);
            }
        }
    }
    let mut expected = tensor.clone();
    for row in 0..m {
        for column in 0..n {
            let sum: f64 = (0..k)
                .map(|i| {
                    let block = i / (k / blocks);
                    f64::from(a[row * k + i] * b[column * k + i])
                        * factor(row, block).0
                        * factor(1000 + column, block).0
                })
                .sum();
            let (cta, lane, at) = cell(form, m, n, row, column);
            expected[cta][lane * COLUMNS + D_AT + at] = (sum as f32).to_bits();
        }
    }
    let idesc = (bytes[1] as u32) << 4
        | a_code << 7
        | b_code << 10
        | ((n as u32) / 8) << 17
        | u32::from(!ue4m3) << 23
        | ((m as u32) / 128) << 27
        | (bytes[0] as u32) << 29;
    let mut issue = descriptor("%d4", 0, m / ctas) + &descriptor("%d5", B_AT, n / ctas);
    let _ = write!(
        issue,
        "setp.ne.u32 %p5, 0, 0; tcgen05.mma.cta_group::{ctas}.kind::{kind}.block_scale{size} [%r1+{D_AT}], %d4, %d5, {idesc}, [%r1+{SFA_AT}], [%r1+{SFB_AT}], %p5;"
    );
    let found = on_tensor_memory(&shared, &tensor, &issue, "");
    for cta in 0..ctas {
        assert_eq!(found[cta], expected[cta], "{scaled:?} {form} m{m} n{n} {bytes:?}");
    }
}

#[test]
fn blocks_with_factors() {
    for scaled in SCALED {
        let last = 4 - scaled.6;
        for bytes in [[0, 0], [last, last / 2 * 2]] {
            check_scaled(scaled, "one", 128, 64, bytes);
        }
        check_scaled(scaled, "one", 128, 8, [0, last]);
        check_scaled(scaled, "pair", 256, 32, [0, 0]);
        check_scaled(scaled, "pair", 128, 64, [0, 0]);
    }
}

// ---- copies, shifts, reducing loads ----

#[test]
fn copies_of_every_shape() {
    type Lanes = fn(usize) -> Vec<usize>;
    let shapes: [(&str, usize, usize, Lanes); 6] = [
        ("128x256b", 128, 32, |r| vec![r]),
        ("4x256b", 4, 32, |r| vec![32 * r]),
        ("128x128b", 128, 16, |r| vec![r]),
        ("64x128b.warpx2::02_13", 64, 16, |r| vec![r, r + 64]),
        ("64x128b.warpx2::01_23", 64, 16, |r| {
            let first = if r < 32 { r } else { r + 32 };
            vec![first, first + 32]
        }),
        ("32x128b.warpx4", 32, 16, |r| vec![r, r + 32, r + 64, r + 96]),
    ];
    for (name, rows, bytes, lanes) in shapes {
        for (format, bits) in [("", 8), (".b8x16.b6x16_p32", 6), (".b8x16.b4x16_p64", 4)] {
            let codes: Vec<Vec<u8>> = (0..rows)
                .map(|row| (0..bytes).map(|i| ((row * 37 + i * 11) % (1 << bits)) as u8).collect())
                .collect();
            let source: Vec<Vec<u8>> = codes
                .iter()
                .map(|row| {
                    row.chunks(16)
                        .flat_map(|group| {
                            let all = group
                                .iter()
                                .enumerate()
                                .fold(0u128, |all, (i, &c)| all | u128::from(c) << (bits * i));
                            all.to_le_bytes()
                        })
                        .collect()
                })
                .collect();
            for ctas in [1, 2] {
                let mut shared = vec![vec![0u8; SHARED]; ctas];
                shared.iter_mut().for_each(|shared| {
                    // A row may have fewer than eight rows beside it.
                    let mut padded = source.clone();
                    padded.resize(rows.max(8), vec![0; bytes]);
                    place(shared, 0, &padded);
                });
                let tensor = vec![vec![7u32; 128 * COLUMNS]; ctas];
                let mut expected = tensor.clone();
                for expected in &mut expected {
                    for (row, codes) in codes.iter().enumerate() {
                        let shift = if bits == 4 { 2 } else { 0 };
                        let row_bytes: Vec<u8> = codes.iter().map(|c| c << shift).collect();
                        for lane in lanes(row) {
                            for (i, w) in row_bytes.chunks(4).enumerate() {
                                expected[lane * COLUMNS + 40 + i] =
                                    u32::from_le_bytes([w[0], w[1], w[2], w[3]]);
                            }
                        }
                    }
                }
                let issue = descriptor("%d4", 0, rows.max(8))
                    + &format!("tcgen05.cp.cta_group::{ctas}.{name}{format} [%r1+40], %d4;");
                let found = on_tensor_memory(&shared, &tensor, &issue, "");
                assert_eq!(found[..ctas], expected, "{name}{format} {ctas}");
            }
        }
    }
}

#[test]
fn shifts_move_rows_of_a_quarter() {
    let tensor: Vec<u32> = (0..128 * COLUMNS as u32).collect();
    let mut expected = tensor.clone();
    for lane in 64..95 {
        for column in 16..24 {
            expected[lane * COLUMNS + column] = tensor[(lane + 1) * COLUMNS + column];
        }
    }
    let issue = "add.u32 %r9, %r1, 0x400010; tcgen05.shift.cta_group::1.down [%r9];";
    let found = on_tensor_memory(&[vec![0; SHARED]], &[tensor], issue, "");
    assert_eq!(found[0], expected);
}

#[test]
fn reducing_loads() {
    let mut tensor = vec![0u32; 128 * COLUMNS];
    let value = |lane: usize, i: usize| (lane * 31 + i * 17) as f32 % 23.0 - 11.0;
    for lane in 0..128 {
        for i in 0..4 {
            tensor[lane * COLUMNS + i] = value(lane, i).to_bits();
            tensor[lane * COLUMNS + 8 + i] = (lane as i32 * 7 - i as i32 * 300) as u32;
        }
    }
    tensor[5 * COLUMNS + 1] = f32::NAN.to_bits();
    let behind = "mul.wide.u32 %d3, %r0, 4; add.u64 %d3, %a2, %d3;
        tcgen05.ld.red.sync.aligned.32x32b.x4.max.f32 {%r20, %r21, %r22, %r23}, %r24, [%r8];
        tcgen05.ld.red.sync.aligned.32x32b.x4.min.abs.NaN.f32 {%r20, %r21, %r22, %r23}, %r25, [%r8];
        tcgen05.ld.red.sync.aligned.32x32b.x4.min.s32 {%r20, %r21, %r22, %r23}, %r26, [%r8+8];
        tcgen05.ld.red.sync.aligned.32x32b.x4.max.u32 {%r20, %r21, %r22, %r23}, %r27, [%r8+8];
        tcgen05.wait::ld.sync.aligned;
        st.global.b32 [%d3], %r24; st.global.b32 [%d3+512], %r25; st.global.b32 [%d3+1024], %r26; st.global.b32 [%d3+1536], %r27;";
    let found = on_tensor_memory(&[vec![0; SHARED]], &[tensor], "", behind);
    for lane in 0..128 {
        let all: Vec<f32> =
            (0..4).filter(|&i| (lane, i) != (5, 1)).map(|i| value(lane, i)).collect();
        let most = all.iter().copied().fold(f32::MIN, f32::max);
        assert_eq!(f32::from_bits(found[1][lane]), most, "lane {lane}");
        let least = all.iter().map(|v| v.abs()).fold(f32::MAX, f32::min);
        if lane == 5 {
            assert_eq!(found[1][128 + lane], 0x7FFF_FFFF);
        } else {
            assert_eq!(f32::from_bits(found[1][128 + lane]), least, "lane {lane}");
        }
        let ints: Vec<i32> = (0..4).map(|i| lane as i32 * 7 - i * 300).collect();
        assert_eq!(found[1][256 + lane] as i32, ints.iter().copied().min().unwrap_or(0));
        let unsigned = ints.iter().map(|&v| v as u32).max().unwrap_or(0);
        assert_eq!(found[1][384 + lane], unsigned);
    }
}

#[test]
fn messages_name_the_rule() {
    let fails = |ctas: u32, body: &str| {
        let start = "mov.u32 %r3, slot; mov.u32 %r4, %tid.x; setp.ne.u32 %p0, %r4, 0;";
        let text = module(".shared .b32 slot;", 0, &format!("{start} {body} ret;"));
        let shape = Shape { grid: ctas, block: 32, cluster: ctas, ..Shape::default() };
        run(&text, &shape, &[]).error()
    };
    let alloc = |group: u32| {
        format!("tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [%r3], 32;")
    };
    let two_values = format!("{} {}", alloc(1), alloc(2));
    assert!(fails(2, &two_values).contains("rule D10"));
    assert!(fails(1, &alloc(2)).contains("rule D10"));
    let lane = format!(
        "{} ld.shared.b32 %r1, [%r3]; add.u32 %r1, %r1, 0x50000; @%p0 bra E; tcgen05.shift.cta_group::1.down [%r1]; E:",
        alloc(1)
    );
    assert!(fails(1, &lane).contains("rule D14"));
}
