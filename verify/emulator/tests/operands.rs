//! Operands of uncommon shapes: vectors that are moved whole, parameters in registers, sums, narrow addresses.

mod common;
use common::{Shape, module, run};

/// What one thread leaves in `%r1`.
#[track_caller]
fn gives(globals: &str, code: &str, want: u32) {
    let text = module(globals, 1, &format!("{code}\nst.global.b32 [%a0], %r1;"));
    let shape = Shape { block: 1, shared: 64, ..Shape::default() };
    let found = run(&text, &shape, &[&[7, 0, 0, 0, 9, 0, 0, 0, 11, 0, 0, 0, 13, 0, 0, 0]]);
    let found = found.words(0, 1)[0];
    assert_eq!(found, want, "{code}: found {found:#x}, want {want:#x}");
}

#[test]
fn vectors_are_moved_at_once() {
    let add = "shl.b32 %r4, %r2, 8; or.b32 %r1, %r3, %r4;";
    gives("", &format!("mov.v2.u32 {{%r2, %r3}}, {{2, 3}}; {add}"), 0x203);
    // Each register is read before the other is written.
    let swap = "mov.u32 %r2, 5; mov.u32 %r3, 6; mov.v2.b32 {%r2, %r3}, {%r3, %r2};";
    gives("", &format!("{swap} {add}"), 0x605);
    let whole = ".reg .v2 .b32 %v<2>; mov.v2.b32 %v0, {1, 4}; mov.v2.b32 %v1, %v0; \
                 mov.b32 %r2, %v1.x; mov.b32 %r3, %v1.y;";
    gives("", &format!("{whole} {add}"), 0x104);
    gives("", "mov.v4.u32 {%r1, %r2, %r3, %r4}, %ntid; add.u32 %r1, %r1, %r2;", 2);
    gives("", "mov.v2.u64 {%d1, %d2}, {3, 4}; add.u64 %d1, %d1, %d2; cvt.u32.u64 %r1, %d1;", 7);
    gives("", "mov.v4.u16 {%h1, %h2, %h3, %h4}, {1, 2, 3, 4}; cvt.u32.u16 %r1, %h4;", 4);
}

#[test]
fn functions_take_and_give_registers() {
    let f = "\
.func (.reg .u32 r) sum(.reg .u32 a, .reg .u64 b, .reg .f32 c, .reg .u16 d)
{ .reg .u32 %x, %y; cvt.u32.u64 %x, b; add.u32 r, a, %x; cvt.rzi.u32.f32 %y, c; add.u32 r, r, %y;
  cvt.u32.u16 %y, d; add.u32 r, r, %y; ret; }
.func (.reg .b64 lo, .reg .b32 hi) two(.reg .b32 a)
{ cvt.u64.u32 lo, a; add.u32 hi, a, 1; ret; }
.func (.reg .u32 r) factorial(.reg .u32 n)
{ .reg .pred %p; .reg .u32 %m; setp.le.u32 %p, n, 1; mov.u32 r, 1; @%p ret;
  sub.u32 %m, n, 1; call.uni (r), factorial, (%m); mul.lo.u32 r, r, n; ret; }
";
    let call = ".reg .f32 %f; mov.f32 %f, 4.0; mov.b16 %h1, 1000; mov.u64 %d1, 20; \
                call (%r1), sum, (3, %d1, %f, %h1);";
    gives(f, call, 1027);
    gives(
        f,
        "mov.u32 %r3, 40; call (%d1, %r2), two, (%r3); cvt.u32.u64 %r1, %d1; add.u32 %r1, %r1, %r2;",
        81,
    );
    gives(f, "call (%r1), factorial, (6);", 720);
    // Lanes that call keep their own values.
    let text = module(
        f,
        1,
        "mov.u32 %r0, %tid.x; setp.lt.u32 %p1, %r0, 8; mov.u32 %r1, 0;\n\
         @%p1 call (%r1), factorial, (%r0);\n\
         mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %a0, %d0; st.global.b32 [%d0], %r1;",
    );
    let found = run(&text, &Shape::default(), &[&[0; 128]]).words(0, 32);
    let want = |lane: u32| if lane < 8 { (1..=lane).product() } else { 0 };
    assert_eq!(found, (0..32).map(want).collect::<Vec<_>>());
}

#[test]
fn a_number_may_be_added_to_a_register() {
    gives("", "mov.u32 %r2, 40; mov.u32 %r1, %r2 + 2;", 42);
    gives("", "mov.u32 %r2, 40; add.u32 %r1, %r2+-1, %r2;", 79);
    gives("", "mov.u64 %d2, 40; add.u64 %d1, %d2, %d2+1; cvt.u32.u64 %r1, %d1;", 81);
    let text = module("", 1, "mov.u32 %r2, 8; st.global.u32 [%a0], %r2 + 1;");
    assert_eq!(run(&text, &Shape::default(), &[&[0; 4]]).words(0, 1), [9]);
}

#[test]
fn addresses_may_be_32_bits_wide_where_their_window_is() {
    gives(
        ".shared .align 4 .u32 s;",
        "mov.u32 %r2, s; st.shared.u32 [%r2], 5; ld.shared.u32 %r1, [%r2];",
        5,
    );
    let local = ".local .align 4 .b8 l[8]; mov.u32 %r2, l; st.local.u32 [%r2+4], 6; ld.local.u32 %r1, [%r2+4];";
    gives("", local, 6);
    gives(".const .u32 c = 8;", "mov.u64 %d2, c; ld.const.u32 %r1, [%d2];", 8);
}

#[test]
fn special_registers_are_converted() {
    gives("", "mov.u32 %r1, 7; cvt.u16.u32 %h1, %ntid.x; cvt.u32.u16 %r1, %h1;", 1);
    gives("", "cvt.u64.u32 %d1, %ntid.x; cvt.u32.u64 %r1, %d1;", 1);
    gives("", "cvt.u32.u16 %r1, %nctaid.y;", 1);
    gives("", "cvt.s32.s8 %r1, %lanemask_eq;", 1);
    gives("", "cvt.sat.u8.s16 %r1, %lanemask_ge;", 0);
}

/// The result, and whether it is not zero together with a predicate.
#[test]
fn logic_of_three_gives_a_predicate() {
    let of = |how: &str, q: &str, value: u32, more: &str| {
        format!(
            "mov.u32 %r2, {value}; setp.eq.u32 %p2, %r2, %r2; lop3.{how}.b32 %r1|%p1, %r2, 12, 0, 0xC0, {q}; {more}"
        )
    };
    let chosen = "selp.b32 %r1, 100, 200, %p1;";
    gives("", &of("or", "%p2", 10, ""), 8);
    gives("", &of("or", "!%p2", 10, chosen), 100);
    gives("", &of("or", "!%p2", 3, chosen), 200);
    gives("", &of("or", "%p2", 3, chosen), 100);
    gives("", &of("and", "%p2", 10, chosen), 100);
    gives("", &of("and", "!%p2", 10, chosen), 200);
    gives("", &of("and", "1", 3, chosen), 200);
    gives(
        "",
        "mov.u32 %r2, 6; lop3.b32.and _|%p1, %r2, 4, 0, 0xC0, 1; selp.b32 %r1, 1, 2, %p1;",
        1,
    );
}

#[test]
fn uniform_loads_have_vectors() {
    gives("", "ldu.global.u32 %r1, [%a0+4];", 9);
    gives("", "ldu.global.v2.u32 {%r1, %r2}, [%a0]; add.u32 %r1, %r1, %r2;", 16);
    gives(
        "",
        "ldu.global.v4.u32 {%r1, %r2, %r3, %r4}, [%a0]; mad.lo.u32 %r1, %r4, 100, %r3;",
        1311,
    );
}

#[test]
fn reserved_shared_memory_has_its_names() {
    for name in ["begin", "end", "cap", "0", "1"] {
        gives("", &format!("mov.b32 %r1, %reserved_smem_offset_{name};"), 0);
    }
}

#[test]
fn functions_of_two_halves() {
    // 1.0 and 2.0, of `.f16` and of `.bf16`.
    gives("", "mov.b32 %r2, 0x40003C00; ex2.approx.f16x2 %r1, %r2;", 0x4400_4000);
    gives("", "mov.b32 %r2, 0x40003F80; ex2.approx.ftz.bf16x2 %r1, %r2;", 0x4080_4000);
    gives("", "mov.b16 %h1, 0x4000; ex2.approx.f16 %h2, %h1; cvt.u32.u16 %r1, %h2;", 0x4400);
    gives("", "mov.b16 %h1, 0x3F80; ex2.approx.ftz.bf16 %h2, %h1; cvt.u32.u16 %r1, %h2;", 0x4000);
    // 2⁻¹²⁸ and 2 to the power of a subnormal number: `.ftz` takes both for what is no subnormal.
    gives("", "mov.b32 %r2, 0xC3008001; ex2.approx.ftz.bf16x2 %r1, %r2;", 0x0000_3F80);
    gives("", "mov.b16 %h1, 0xC300; ex2.approx.ftz.bf16 %h2, %h1; cvt.u32.u16 %r1, %h2;", 0);
    gives("", "mov.b32 %r2, 0x00018001; add.rn.ftz.f16x2 %r1, %r2, %r2;", 0x0000_8000);
    gives("", "mov.b32 %r2, 0x00018001; add.rn.f16x2 %r1, %r2, %r2;", 0x0002_8002);
    gives("", "mov.b16 %h1, 0x0001; add.rn.ftz.f16 %h2, %h1, %h1; cvt.u32.u16 %r1, %h2;", 0);
    // The hyperbolic tangent of zero and of a large number.
    gives("", "mov.b32 %r2, 0x64000000; tanh.approx.f16x2 %r1, %r2;", 0x3C00_0000);
    gives("", "mov.b32 %r2, 0xC4000000; tanh.approx.bf16x2 %r1, %r2;", 0xBF80_0000);
    gives("", "mov.b16 %h1, 0xE400; tanh.approx.f16 %h2, %h1; cvt.u32.u16 %r1, %h2;", 0xBC00);
}

#[test]
fn least_magnitudes_have_the_sign_of_the_product() {
    let of = |ty: &str, a: &str, b: &str| {
        format!("mov.b32 %r2, {a}; mov.b32 %r3, {b}; min.xorsign.abs.{ty} %r1, %r2, %r3;")
    };
    gives("", &of("f32", "0xC0000000", "0x3F800000"), 0xBF80_0000);
    gives("", &of("f16x2", "0xC000C000", "0xBC003C00"), 0x3C00_BC00);
    gives("", &of("bf16x2", "0xC000C000", "0xBF803F80"), 0x3F80_BF80);
    gives("", &of("NaN.f32", "0x7FC00000", "0x3F800000"), 0x7FFF_FFFF);
    let half = "mov.b16 %h1, 0xC000; mov.b16 %h2, 0x3C00; max.xorsign.abs.f16 %h3, %h1, %h2; cvt.u32.u16 %r1, %h3;";
    gives("", half, 0xC000);
}
