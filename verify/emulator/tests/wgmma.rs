//! Values of `wgmma.mma_async` against sums of small whole numbers, which every format holds
//! exactly. Layouts and fragments are written here from the figures of the PTX ISA (9.7.15.5); the
//! encodings come from a soft-float library.

mod common;

use common::{Run, Shape, module_for, run};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Float8E4M3FN, Float8E5M2, Half, Single};
use std::fmt::Write;

/// How a matrix lies in shared memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    /// K innermost, core matrices of 8 rows × 16 bytes.
    Plain,
    /// K innermost, rows of so many bytes, swizzled.
    Rows(usize),
    /// M or N innermost, core matrices.
    TransposedPlain,
    /// M or N innermost, lines of so many bytes, swizzled.
    Lines(usize),
}

#[derive(Clone, Copy, Debug)]
struct Types {
    d: &'static str,
    a: &'static str,
    b: &'static str,
}

fn encode(ty: &str, value: i32) -> Vec<u8> {
    let v = i128::from(value);
    let (bits, bytes) = match ty {
        "f16" => (Half::from_i128(v).value.to_bits(), 2),
        "bf16" => (BFloat::from_i128(v).value.to_bits(), 2),
        "tf32" | "f32" => (Single::from_i128(v).value.to_bits(), 4),
        "e4m3" => (Float8E4M3FN::from_i128(v).value.to_bits(), 1),
        "e5m2" => (Float8E5M2::from_i128(v).value.to_bits(), 1),
        "s32" => (u128::from(value as u32), 4),
        _ => (u128::from(value as u8), 1),
    };
    bits.to_le_bytes()[..bytes].to_vec()
}

fn size(ty: &str) -> usize {
    encode(ty, 0).len()
}

fn numbers(seed: u32, count: usize, least: i32, most: i32) -> Vec<i32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            least + (state % (most - least + 1) as u32) as i32
        })
        .collect()
}

/// Offset of element (row, k) of a matrix of `rows` rows; LBO and SBO of its descriptor, its code.
fn place(layout: Layout, rows: usize, size: usize, row: usize, k: usize) -> usize {
    let t = 16 / size;
    match layout {
        Layout::Plain => {
            let core = row % 8 * 16 + k % t * size;
            row / 8 * 128 + k / t * (rows / 8 * 128) + core
        }
        Layout::Rows(span) => {
            let at = row * span + k * size;
            at ^ ((at / 128 % (span / 16)) * 16)
        }
        Layout::TransposedPlain => {
            let core = k % 8 * 16 + row % t * size;
            row / t * 128 + k / 8 * (rows / t * 128) + core
        }
        Layout::Lines(span) => {
            let line = span / size;
            // Eight lines of k, then the next 16 of K, then the next line of rows.
            let at =
                row / line * (2 * 8 * span) + k / 8 * (8 * span) + k % 8 * span + row % line * size;
            at ^ ((at / 128 % (span / 16)) * 16)
        }
    }
}

/// The descriptor but for the address.
fn descriptor(layout: Layout, rows: usize, size: usize) -> u64 {
    let (lbo, sbo, code) = match layout {
        Layout::Plain => (rows / 8 * 128, 128, 0u64),
        Layout::Rows(span) => (16, 8 * span, [0, 3, 2, 0, 1][span / 32]),
        Layout::TransposedPlain => (rows / (16 / size) * 128, 128, 0),
        Layout::Lines(span) => (2 * 8 * span, 8 * span, [0, 3, 2, 0, 1][span / 32]),
    };
    (lbo as u64 / 16) << 16 | (sbo as u64 / 16) << 32 | code << 62
}

struct Case {
    types: Types,
    n: usize,
    a: Option<Layout>,
    b: Layout,
    accumulate: bool,
    negate: [bool; 2],
}

/// Runs one product; D as it came out and as it should be, encoded.
fn product(case: &Case) -> (Vec<u32>, Vec<u32>) {
    let Case { types, n, a: a_layout, b: b_layout, accumulate, negate } = *case;
    let (size, integer) = (size(types.a), types.d == "s32");
    let k = 32 / size;
    let range = |ty: &str| {
        if ty == "u8" {
            (0, 200)
        } else if ty == "s8" {
            (-100, 100)
        } else {
            (-3, 3)
        }
    };
    let (la, lb) = (range(types.a), range(types.b));
    let a = numbers(7, 64 * k, la.0, la.1);
    let b = numbers(11, n * k, lb.0, lb.1);
    let c = numbers(13, 64 * n, -50, 50);
    let transposed = |l: Layout| matches!(l, Layout::TransposedPlain | Layout::Lines(_));

    let mut shared = vec![0u8; 40 << 10];
    let b_at = 16 << 10;
    for row in 0..64 {
        for i in 0..k {
            if let Some(layout) = a_layout {
                let at = place(layout, 64, size, row, i);
                shared[at..at + size].copy_from_slice(&encode(types.a, a[row * k + i]));
            }
        }
    }
    for row in 0..n {
        for i in 0..k {
            let at = b_at + place(b_layout, n, size, row, i);
            shared[at..at + size].copy_from_slice(&encode(types.b, b[row * k + i]));
        }
    }
    // D and A in registers: thread t, register r at 128·r + t.
    let per = if types.d == "f16" { 2 } else { 1 };
    let registers = n / 2 / per;
    let cell = |thread: usize, i: usize| {
        let (warp, lane) = (thread / 32, thread % 32);
        let row = if i % 4 < 2 { lane / 4 } else { lane / 4 + 8 };
        (16 * warp + row, 8 * (i / 4) + 2 * (lane % 4) + i % 2)
    };
    let spread = |matrix: &[i32]| -> Vec<u32> {
        let mut words = vec![0u32; 128 * registers];
        for thread in 0..128 {
            for i in 0..registers * per {
                let (row, column) = cell(thread, i);
                let mut bits = encode(types.d, matrix[row * n + column]);
                bits.resize(4, 0);
                let bits = u32::from_le_bytes([bits[0], bits[1], bits[2], bits[3]]);
                words[128 * (i / per) + thread] |= bits << (16 * (i % per));
            }
        }
        words
    };
    let mut fragment = vec![0u8; 4 * 128 * 4];
    for thread in 0..128 {
        let (warp, lane) = (thread / 32, thread % 32);
        let each = 4 / size;
        for i in 0..4 * each {
            let register = i / each;
            let row = 16 * warp + lane / 4 + if register % 2 == 1 { 8 } else { 0 };
            let column = lane % 4 * each + i % each + if register >= 2 { k / 2 } else { 0 };
            let at = 4 * (128 * register + thread) + i % each * size;
            fragment[at..at + size].copy_from_slice(&encode(types.a, a[row * k + column]));
        }
    }

    let list = |name: &str, count: usize| {
        (0..count).map(|i| format!("%{name}{i}")).collect::<Vec<_>>().join(", ")
    };
    let mut body = String::from(
        ".reg .b32 %c<130>; .reg .b32 %f<4>;
         mov.u32 %r0, %tid.x; mov.u32 %r1, smem; mul.wide.u32 %d0, %r0, 16;
         add.u64 %d1, %a0, %d0; cvt.u32.u64 %r2, %d0; add.u32 %r2, %r1, %r2; mov.u32 %r3, 0;
         L: ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%d1]; st.shared.v4.b32 [%r2], {%r4, %r5, %r6, %r7};
         add.u64 %d1, %d1, 2048; add.u32 %r2, %r2, 2048; add.u32 %r3, %r3, 2048;
         setp.lt.u32 %p0, %r3, 40960; @%p0 bra L;
         mul.wide.u32 %d0, %r0, 4; add.u64 %d2, %a1, %d0; add.u64 %d3, %a2, %d0;\n",
    );
    for i in 0..registers {
        let _ = writeln!(body, "ld.global.b32 %c{i}, [%d2+{}];", 512 * i);
    }
    for i in 0..4 {
        let _ = writeln!(body, "ld.global.b32 %f{i}, [%d3+{}];", 512 * i);
    }
    let encoded = |name: &str, at: usize, fields: u64| {
        format!(
            "add.u32 %r8, %r1, {at}; shr.u32 %r8, %r8, 4; cvt.u64.u32 {name}, %r8; or.b64 {name}, {name}, {fields};\n"
        )
    };
    body += &encoded("%d4", 0, a_layout.map_or(0, |l| descriptor(l, 64, size)));
    body += &encoded("%d5", b_at, descriptor(b_layout, n, size));
    let sign = |negative: bool| if negative { -1 } else { 1 };
    let flag = |l: Layout| i32::from(transposed(l));
    let mut tail = String::new();
    if !integer {
        let _ = write!(tail, ", {}, {}", sign(negate[0]), sign(negate[1]));
        if size == 2 {
            if let Some(l) = a_layout {
                let _ = write!(tail, ", {}", flag(l));
            }
            let _ = write!(tail, ", {}", flag(b_layout));
        }
    }
    let left = if a_layout.is_some() { "%d4".to_owned() } else { format!("{{{}}}", list("f", 4)) };
    let _ = write!(
        body,
        "fence.proxy.async; bar.sync 0; setp.ne.u32 %p1, {}, 0;
         wgmma.fence.sync.aligned;
         wgmma.mma_async.sync.aligned.m64n{n}k{k}.{}.{}.{} {{{}}}, {left}, %d5, %p1{tail};
         wgmma.commit_group.sync.aligned;
         wgmma.wait_group.sync.aligned 0;\n",
        u32::from(accumulate),
        types.d,
        types.a,
        types.b,
        list("c", registers)
    );
    for i in 0..registers {
        let _ = writeln!(body, "st.global.b32 [%d2+{}], %c{i};", 512 * i);
    }
    body += "ret;";
    let text = module_for("sm_90a", ".shared .align 1024 .b8 smem[40960];", 3, &body);
    let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let shape = Shape { block: 128, seed: n as u64, ..Shape::default() };
    let found = run(&text, &shape, &[&shared, &bytes(&spread(&c)), &fragment]);

    let sign = sign(negate[0]) * sign(negate[1]);
    let expected: Vec<i32> = (0..64 * n)
        .map(|at| {
            let (row, column) = (at / n, at % n);
            let sum: i32 = (0..k).map(|i| a[row * k + i] * b[column * k + i]).sum();
            sign * sum + if accumulate { c[at] } else { 0 }
        })
        .collect();
    (found.words(1, 128 * registers), spread(&expected))
}

#[track_caller]
fn check(case: &Case) {
    let (found, expected) = product(case);
    let what = format!("{:?} n{} A {:?} B {:?}", case.types, case.n, case.a, case.b);
    assert_eq!(found, expected, "{what}");
}

const TYPES: [(&str, &str, &str); 13] = [
    ("f32", "f16", "f16"),
    ("f16", "f16", "f16"),
    ("f32", "bf16", "bf16"),
    ("f32", "tf32", "tf32"),
    ("f32", "e4m3", "e4m3"),
    ("f32", "e4m3", "e5m2"),
    ("f16", "e5m2", "e4m3"),
    ("f32", "e5m2", "e5m2"),
    ("f16", "e4m3", "e4m3"),
    ("s32", "s8", "s8"),
    ("s32", "s8", "u8"),
    ("s32", "u8", "s8"),
    ("s32", "u8", "u8"),
];

#[test]
fn every_type_from_shared_memory_and_registers() {
    for (d, a, b) in TYPES {
        let types = Types { d, a, b };
        for n in [8, 16, 64, 256] {
            for a in [None, Some(Layout::Plain)] {
                let accumulate = n != 16;
                check(&Case { types, n, a, b: Layout::Plain, accumulate, negate: [false; 2] });
            }
        }
    }
}

#[test]
fn every_width() {
    let types = Types { d: "f32", a: "bf16", b: "bf16" };
    for n in (8..=256).step_by(8) {
        let a = Some(Layout::Rows(128));
        check(&Case { types, n, a, b: Layout::Rows(32), accumulate: true, negate: [false; 2] });
    }
}

#[test]
fn every_swizzle() {
    for (d, a, b) in TYPES {
        let types = Types { d, a, b };
        for (x, y) in [(32, 64), (64, 128), (128, 32), (128, 128)] {
            let (a, b) = (Some(Layout::Rows(x)), Layout::Rows(y));
            check(&Case { types, n: 32, a, b, accumulate: false, negate: [false; 2] });
        }
    }
}

#[test]
fn transposed_matrices() {
    for (d, a, b) in [("f32", "f16", "f16"), ("f32", "bf16", "bf16"), ("f16", "f16", "f16")] {
        let types = Types { d, a, b };
        let layouts =
            [Layout::TransposedPlain, Layout::Lines(32), Layout::Lines(64), Layout::Lines(128)];
        for layout in layouts {
            let negate = [false; 2];
            let a = Some(layout);
            check(&Case { types, n: 128, a, b: Layout::Plain, accumulate: true, negate });
            check(&Case {
                types,
                n: 128,
                a: Some(Layout::Plain),
                b: layout,
                accumulate: true,
                negate,
            });
            check(&Case { types, n: 64, a: None, b: layout, accumulate: true, negate });
        }
    }
}

#[test]
fn negated_operands() {
    let types = Types { d: "f32", a: "f16", b: "f16" };
    for negate in [[true, false], [false, true], [true, true]] {
        let a = Some(Layout::Plain);
        check(&Case { types, n: 16, a, b: Layout::Plain, accumulate: true, negate });
    }
}

/// A warpgroup and what comes before and behind a product of 64 × 8 zeros.
fn around(block: u32, before: &str, behind: &str) -> Run {
    let body = format!(
        "mov.u32 %r0, %tid.x; mov.u32 %r1, smem; shr.u32 %r2, %r1, 4; cvt.u64.u32 %d0, %r2;
         or.b64 %d0, %d0, 0x800080000; shl.b32 %r3, %r0, 4; add.u32 %r3, %r3, %r1;
         mov.u32 %r4, 0; st.shared.v4.b32 [%r3], {{%r4, %r4, %r4, %r4}};
         mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, 0; mov.u32 %r13, 0;
         fence.proxy.async; bar.sync 0; setp.ne.u32 %p0, 0, 0; shr.u32 %r5, %r0, 5;
         {before}
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%r10, %r11, %r12, %r13}}, %d0, %d0, %p0, 1, 1, 0, 0;
         {behind} ret;"
    );
    let text = module_for("sm_90a", ".shared .align 1024 .b8 smem[4096];", 1, &body);
    run(&text, &Shape { block, ..Shape::default() }, &[&[0; 1024]])
}

#[test]
fn messages_name_the_rule() {
    let end = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";
    let fence = "wgmma.fence.sync.aligned;";
    assert!(around(128, fence, end).result.is_ok());
    assert!(around(96, fence, end).error().contains("rule E4"));
    let one_warp = "setp.ne.u32 %p1, %r5, 0; @%p1 bra W; wgmma.fence.sync.aligned;";
    let alone = around(128, one_warp, &format!("{end} W:"));
    assert!(alone.error().contains("rule E4"), "{}", alone.error());
    let lane = "setp.ne.u32 %p1, %r0, 0; @%p1 bra W; wgmma.fence.sync.aligned;";
    assert!(around(128, lane, &format!("{end} W:")).error().contains("rule F4"));
    assert!(around(128, fence, "").error().contains("rule E2"));
    let other = "wgmma.fence.sync.aligned; setp.eq.u32 %p1, %r5, 1; @%p1 add.u64 %d0, %d0, 2;";
    assert!(around(128, other, end).error().contains("rule E4"));
    let code = "wgmma.fence.sync.aligned; or.b64 %d0, %d0, 0x400000000000;";
    assert!(around(128, code, end).error().contains("rule D14"));
}
