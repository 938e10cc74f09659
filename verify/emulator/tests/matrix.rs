//! `mma.sync`, `ldmatrix`, `stmatrix` and `movmatrix` against sums of small whole numbers. Fragments
//! are written here from the formulas of the PTX ISA (9.7.14.5).

mod common;

use common::{Shape, module, module_for, run};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Single};
use std::fmt::Write;

fn encode(ty: &str, value: i64) -> u64 {
    let v = i128::from(value);
    (match ty {
        "f16" => Half::from_i128(v).value.to_bits(),
        "bf16" => BFloat::from_i128(v).value.to_bits(),
        "tf32" | "f32" => Single::from_i128(v).value.to_bits(),
        "f64" => Double::from_i128(v).value.to_bits(),
        "e4m3" => Float8E4M3FN::from_i128(v).value.to_bits(),
        "e5m2" => Float8E5M2::from_i128(v).value.to_bits(),
        // The codes of 0 to 3, above the zeros that the container has at the bottom.
        "e2m1" => {
            u128::from([0u8, 2, 4, 5][value.unsigned_abs() as usize] | if v < 0 { 8 } else { 0 })
                << 2
        }
        "e3m2" => u128::from(
            [0u8, 12, 16, 18][value.unsigned_abs() as usize] | if v < 0 { 32 } else { 0 },
        ),
        _ => (value as u64 & ((1 << bits(ty)) - 1)).into(),
    }) as u64
}

fn bits(ty: &str) -> usize {
    match ty {
        "f64" => 64,
        "tf32" | "f32" | "s32" => 32,
        "f16" | "bf16" => 16,
        "u4" | "s4" => 4,
        "b1" => 1,
        _ => 8,
    }
}

fn numbers(seed: u32, count: usize, ty: &str) -> Vec<i64> {
    let (least, most) = match ty {
        "u8" => (0, 255),
        "s8" => (-128, 127),
        "u4" => (0, 15),
        "s4" => (-8, 7),
        "b1" => (0, 1),
        "c" => (-40, 40),
        _ => (-3, 3),
    };
    let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            least + i64::from(state) % (most - least + 1)
        })
        .collect()
}

/// Lane, register and place in the register of an element: row (or column of B) and k.
fn a_place(m: usize, ty: &str, row: usize, k: usize) -> (usize, usize, usize) {
    let each = if ty == "f64" { 1 } else { 32 / bits(ty) };
    let word = k / each;
    let part = if m == 16 { 2 } else { 1 };
    (row % 8 * 4 + word % 4, row / 8 + part * (word / 4), k % each)
}

fn mma(m: usize, k: usize, d: &str, a_ty: &str, b_ty: &str, extra: &str) {
    let (a, b) = (numbers(3, m * k, a_ty), numbers(5, 8 * k, b_ty));
    let c = numbers(7, m * 8, "c");
    let wide = a_ty == "f64";
    let row_registers = k * bits(a_ty) / if wide { 64 } else { 32 } / 4;
    let counts =
        [row_registers * m / 8, row_registers, m / 4 * bits(d) / if wide { 64 } else { 32 }];
    let mut words = [0, 1, 2].map(|i| vec![0u64; 32 * counts[i]]);
    for row in 0..m {
        for i in 0..k {
            let (lane, register, part) = a_place(m, a_ty, row, i);
            words[0][32 * register + lane] |=
                encode(a_ty, a[row * k + i]) << (bits(a_ty) * part % 64);
        }
    }
    for column in 0..8 {
        for i in 0..k {
            let (lane, register, part) = a_place(8, b_ty, column, i);
            words[1][32 * register + lane] |=
                encode(b_ty, b[column * k + i]) << (bits(b_ty) * part % 64);
        }
    }
    let spread = |matrix: &[i64]| {
        let mut words = vec![0u64; 32 * counts[2]];
        for row in 0..m {
            for column in 0..8 {
                let (lane, i) = (row % 8 * 4 + column / 2, column % 2 + row / 8 * 2);
                let per = if d == "f16" { 2 } else { 1 };
                words[32 * (i / per) + lane] |=
                    encode(d, matrix[row * 8 + column]) << (16 * (i % per));
            }
        }
        words
    };
    words[2] = spread(&c);
    let sums: Vec<i64> = (0..m * 8)
        .map(|at| {
            let (row, column) = (at / 8, at % 8);
            let term = |i: usize| {
                let (x, y) = (a[row * k + i], b[column * k + i]);
                match (a_ty, extra) {
                    ("b1", ".xor.popc") => x ^ y,
                    _ => x * y,
                }
            };
            c[at] + (0..k).map(term).sum::<i64>()
        })
        .collect();
    let (name, size) = if wide { ("e", 8) } else { ("c", 4) };
    let mut body = String::from(".reg .b32 %c<32>; .reg .f64 %e<32>; mov.u32 %r0, %tid.x;\n");
    let _ = writeln!(body, "mul.wide.u32 %d0, %r0, {size};");
    let mut lists = Vec::new();
    let mut next = 0;
    for (buffer, count) in counts.iter().enumerate() {
        let _ = writeln!(body, "add.u64 %d1, %a{buffer}, %d0;");
        let names: Vec<String> = (next..next + count).map(|i| format!("%{name}{i}")).collect();
        for (i, name) in names.iter().enumerate() {
            let _ = writeln!(body, "ld.global.b{} {name}, [%d1+{}];", 8 * size, 32 * size * i);
        }
        lists.push(names);
        next += count;
    }
    let list = |i: usize| lists[i].join(", ");
    let _ = writeln!(
        body,
        "mma.sync.aligned.m{m}n8k{k}.row.col{}.{d}.{a_ty}.{b_ty}.{d}{} {{{}}}, {{{}}}, {{{}}}, {{{}}};",
        if extra == ".kind::f8f6f4" || extra == ".satfinite" { extra } else { "" },
        if a_ty == "b1" { extra } else { "" },
        list(2),
        list(0),
        list(1),
        list(2)
    );
    for (i, name) in lists[2].iter().enumerate() {
        let _ = writeln!(body, "st.global.b{} [%d1+{}], {name};", 8 * size, 32 * size * i);
    }
    body += "ret;";
    let bytes = words
        .each_ref()
        .map(|w| -> Vec<u8> { w.iter().flat_map(|v| v.to_le_bytes()[..size].to_vec()).collect() });
    let target = if extra.contains("kind") { "sm_120a" } else { "sm_100a" };
    let text = module_for(target, "", 3, &body);
    let found = run(&text, &Shape::default(), &[&bytes[0], &bytes[1], &bytes[2]]);
    let found = found.words(2, 32 * counts[2] * size / 4);
    let expected: Vec<u32> = spread(&sums)
        .iter()
        .flat_map(|v| if wide { vec![*v as u32, (*v >> 32) as u32] } else { vec![*v as u32] })
        .collect();
    assert_eq!(found, expected, "m{m}n8k{k} {d} {a_ty} {b_ty} {extra}");
}

#[test]
fn products_of_floats() {
    for k in [8, 16] {
        mma(16, k, "f32", "f16", "f16", "");
        mma(16, k, "f16", "f16", "f16", "");
        mma(16, k, "f32", "bf16", "bf16", "");
    }
    for k in [4, 8] {
        mma(16, k, "f32", "tf32", "tf32", "");
    }
    mma(8, 4, "f64", "f64", "f64", "");
    for k in [4, 8, 16] {
        mma(16, k, "f64", "f64", "f64", "");
    }
    for (a, b) in [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")] {
        for d in ["f32", "f16"] {
            mma(16, 32, d, a, b, "");
            mma(16, 16, d, a, b, "");
        }
    }
    for (a, b) in [("e2m1", "e3m2"), ("e3m2", "e4m3"), ("e5m2", "e2m1")] {
        mma(16, 32, "f32", a, b, ".kind::f8f6f4");
    }
}

#[test]
fn products_of_integers() {
    for (a, b) in [("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")] {
        for (m, k) in [(8, 16), (16, 16), (16, 32)] {
            mma(m, k, "s32", a, b, "");
            mma(m, k, "s32", a, b, ".satfinite");
        }
    }
    for (a, b) in [("s4", "s4"), ("s4", "u4"), ("u4", "s4"), ("u4", "u4")] {
        for (m, k) in [(8, 32), (16, 32), (16, 64)] {
            mma(m, k, "s32", a, b, "");
        }
    }
    for (m, k) in [(8, 128), (16, 128), (16, 256)] {
        mma(m, k, "s32", "b1", "b1", ".xor.popc");
        mma(m, k, "s32", "b1", "b1", ".and.popc");
    }
}

#[test]
fn rows_are_loaded_and_stored() {
    // Four matrices of 8 × 8 halves; row r of matrix i is at 16·(8i + r).
    let matrices: Vec<u8> = (0..512).map(|i| (i * 7 % 251) as u8).collect();
    let half = |i: usize, row: usize, column: usize| {
        let at = 16 * (8 * i + row) + 2 * column;
        u32::from(u16::from_le_bytes([matrices[at], matrices[at + 1]]))
    };
    for count in [1, 2, 4] {
        for transposed in [false, true] {
            let trans = if transposed { ".trans" } else { "" };
            let registers: Vec<String> = (0..count).map(|i| format!("%r{}", 10 + i)).collect();
            let list = registers.join(", ");
            let mut body = format!(
                "mov.u32 %r0, %tid.x; mov.u32 %r1, smem; shl.b32 %r2, %r0, 4; add.u32 %r3, %r1, %r2; cvt.u64.u32 %d0, %r2;
                 add.u64 %d1, %a0, %d0; ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d1]; st.shared.v4.b32 [%r3], {{%r4, %r5, %r6, %r7}};
                 bar.sync 0; ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{list}}}, [%r3]; shl.b32 %r8, %r0, 2;
                 cvt.u64.u32 %d2, %r8; add.u64 %d2, %a1, %d2;\n"
            );
            for (i, register) in registers.iter().enumerate() {
                let _ = writeln!(body, "st.global.b32 [%d2+{}], {register};", 128 * i);
            }
            // And back, behind them.
            let _ = write!(
                body,
                "add.u32 %r9, %r3, 512; stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r9], {{{list}}}; bar.sync 0;
                 ld.shared.v4.b32 {{%r4, %r5, %r6, %r7}}, [%r9]; add.u64 %d3, %a2, %d0; st.global.v4.b32 [%d3], {{%r4, %r5, %r6, %r7}}; ret;"
            );
            let text = module(".shared .align 16 .b8 smem[1024];", 3, &body);
            let found = run(&text, &Shape::default(), &[&matrices, &[0; 512], &[0; 512]]);
            let words = found.words(1, 32 * count);
            for (at, word) in words.iter().enumerate() {
                let (i, lane) = (at / 32, at % 32);
                let element = |h: usize| {
                    let (x, y) = (lane / 4, 2 * (lane % 4) + h);
                    if transposed { half(i, y, x) } else { half(i, x, y) }
                };
                assert_eq!(*word, element(0) | element(1) << 16, "x{count}{trans} lane {lane}");
            }
            let back = found.words(2, 32 * count);
            let expected: Vec<u32> = matrices[..128 * count]
                .chunks(4)
                .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
                .collect();
            assert_eq!(back, expected, "x{count}{trans} back");
        }
    }
}

#[test]
fn registers_are_transposed() {
    let body = "mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 1; add.u32 %r2, %r1, 1; shl.b32 %r2, %r2, 16; or.b32 %r3, %r1, %r2;
        movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r3; mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %a0, %d0; st.global.b32 [%d0], %r4; ret;";
    let found = run(&module("", 1, body), &Shape::default(), &[&[0; 128]]).words(0, 32);
    // Element (row, column) was 8·row + column.
    for (lane, word) in found.iter().enumerate() {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        let element = |i: usize| (8 * (column + i) + row) as u32;
        assert_eq!(*word, element(0) | element(1) << 16, "lane {lane}");
    }
}
