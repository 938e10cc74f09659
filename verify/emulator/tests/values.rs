//! Instruction families against values worked out by hand from the PTX ISA.

mod common;
use common::{Shape, module, run};

/// Runs `code` in one thread, which leaves its result in `%r1`.
#[track_caller]
fn gives(code: &str, want: u32) {
    let text = module("", 1, &format!("{code}\nst.global.b32 [%a0], %r1;"));
    let found = run(&text, &Shape { block: 1, ..Shape::default() }, &[&[0; 4]]).words(0, 1)[0];
    assert_eq!(found, want, "{code}: found {found:#x}, want {want:#x}");
}

/// The same for a 64-bit result in `%d1`.
#[track_caller]
fn gives64(code: &str, want: u64) {
    let text = module("", 1, &format!("{code}\nst.global.b64 [%a0], %d1;"));
    let found = run(&text, &Shape { block: 1, ..Shape::default() }, &[&[0; 8]]).words(0, 2);
    let found = u64::from(found[1]) << 32 | u64::from(found[0]);
    assert_eq!(found, want, "{code}: found {found:#x}, want {want:#x}");
}

/// All 32 lanes: `code` leaves its result in `%r1`, `%r0` is the lane.
#[track_caller]
fn lanes(code: &str, want: impl Fn(u32) -> u32) {
    let text = module(
        "",
        1,
        &format!(
            "mov.u32 %r0, %tid.x; {code}\nmul.wide.u32 %d0, %r0, 4; add.u64 %d0, %a0, %d0; \
             st.global.b32 [%d0], %r1;"
        ),
    );
    for seed in 0..4 {
        let found = run(&text, &Shape { seed, ..Shape::default() }, &[&[0; 128]]).words(0, 32);
        assert_eq!(found, (0..32).map(&want).collect::<Vec<_>>(), "{code}");
    }
}

#[test]
fn integers() {
    gives("mul.hi.u32 %r1, 0xFFFFFFFF, 0xFFFFFFFF;", 0xFFFF_FFFE);
    gives("mul.hi.s32 %r1, -2, 3;", 0xFFFF_FFFF);
    gives("mad.lo.s32 %r1, 7, -3, 1;", 20u32.wrapping_neg());
    gives64("mul.wide.s32 %d1, -2, 3;", -6i64 as u64);
    gives64("mul.wide.u32 %d1, 0xFFFFFFFE, 3;", 0x2_FFFF_FFFA);
    gives64("mad.wide.s32 %d1, -1, 5, 100;", 95);
    gives64("mul.hi.s64 %d1, -1, 1;", u64::MAX);
    gives("mov.b16 %h1, 0xFFFF; mov.b16 %h2, 3; mul.wide.s16 %r1, %h1, %h2;", -3i32 as u32);
    gives("mov.b16 %h1, 0x8000; shr.s16 %h2, %h1, 4; cvt.u32.u16 %r1, %h2;", 0xF800);
    gives("mov.b16 %h1, 250; add.u16 %h1, %h1, 65530; cvt.u32.u16 %r1, %h1;", 244);
    gives("div.s32 %r1, -7, 2;", -3i32 as u32);
    gives("rem.s32 %r1, -7, 2;", -1i32 as u32);
    gives("neg.s32 %r2, 5; abs.s32 %r1, %r2;", 5);
    gives("add.sat.s32 %r1, 0x7FFFFFFF, 1;", 0x7FFF_FFFF);
    gives("popc.b64 %r1, 0xF0F0F0F0F0F0F0F0;", 32);
    gives("clz.b64 %r1, 1;", 63);
    gives("bfind.u32 %r1, 0;", u32::MAX);
    gives("brev.b32 %r1, 1;", 0x8000_0000);
    gives("sad.u32 %r1, 3, 10, 100;", 107);
    gives("lop3.b32 %r1, 0xF0, 0xCC, 0xAA, 0x96;", 0xF0 ^ 0xCC ^ 0xAA);
    gives("prmt.b32 %r1, 0x44332211, 0x88776655, 0x5410;", 0x6655_2211);
    gives("bfe.s32 %r1, 0x00F0, 4, 4;", u32::MAX);
    gives("bfi.b32 %r1, 0xF, 0, 8, 4;", 0xF00);
    gives("shf.l.wrap.b32 %r1, 0x80000000, 0x1, 33;", 3);
    gives("shl.b32 %r1, 1, 32;", 0);
    gives64("shr.s64 %d1, 0x8000000000000000, 100;", u64::MAX);
    gives64("add.cc.u32 %r1, 0xFFFFFFFF, 1; addc.u32 %r2, 0, 5; cvt.u64.u32 %d1, %r2;", 6);
    gives64("sub.cc.u64 %d1, 0, 1; subc.u64 %d1, 10, 0;", 9);
    // A difference without borrow leaves a carry, as the additions behind it take it.
    gives64("sub.cc.u32 %r1, 5, 3; addc.u32 %r2, 0, 0; cvt.u64.u32 %d1, %r2;", 1);
    gives64("sub.cc.u32 %r1, 3, 5; addc.u32 %r2, 0, 0; cvt.u64.u32 %d1, %r2;", 0);
    gives64("mov.u32 %r1, 9; mad.hi.u32 %r2, 0x80000000, 6, %r1; cvt.u64.u32 %d1, %r2;", 12);
    gives64("mad.lo.cc.u64 %d1, 0xFFFFFFFFFFFFFFFF, 1, 1; madc.hi.u64 %d1, 2, 3, 4;", 5);
    gives("dp4a.s32.s32 %r1, 0xFF02FF02, 0x01030103, 10;", 10 + 2 * (6 - 1));
    gives("mul24.lo.u32 %r1, 0xFF000002, 3;", 6);
}

#[test]
fn floats() {
    gives("add.rn.f32 %r1, 0f3F800000, 0f40000000;", 3f32.to_bits());
    gives("fma.rn.f32 %r1, 0f3F800001, 0f3F800001, 0fBF800002;", 2f32.powi(-46).to_bits());
    gives("add.rz.f32 %r1, 0f3F800000, 0fB3800000;", 0x3F7F_FFFF);
    gives("mul.rp.f32 %r1, 0f3F800001, 0f3F800001;", 0x3F80_0003);
    gives("mul.rn.f32 %r1, 0f3F800001, 0f3F800001;", 0x3F80_0002);
    gives("add.ftz.f32 %r1, 0f00000001, 0f00000001;", 0);
    gives("add.sat.f32 %r1, 0f40000000, 0f40000000;", 1f32.to_bits());
    gives("sub.f32 %r1, 0f7F800000, 0f7F800000;", 0x7FFF_FFFF);
    gives("min.f32 %r1, 0f7FC00000, 0f40000000;", 2f32.to_bits());
    gives("max.NaN.f32 %r1, 0f7FC00000, 0f40000000;", 0x7FFF_FFFF);
    gives("min.f32 %r1, 0f00000000, 0f80000000;", 0x8000_0000);
    gives("copysign.f32 %r1, 0f80000000, 0f40000000;", (-2f32).to_bits());
    gives("sqrt.rn.f32 %r1, 0f40000000;", 2f32.sqrt().to_bits());
    gives("rcp.rn.f32 %r1, 0f40800000;", 0.25f32.to_bits());
    gives("ex2.approx.f32 %r1, 0f40400000;", 8f32.to_bits());
    gives("lg2.approx.f32 %r1, 0f41800000;", 4f32.to_bits());
    gives64("add.f64 %d1, 0d3FF0000000000000, 0d4000000000000000;", 3f64.to_bits());
    gives64(
        "fma.rn.f64 %d1, 0d4000000000000000, 0d4008000000000000, 0d3FF0000000000000;",
        7f64.to_bits(),
    );
    gives(
        "mov.b16 %h1, 0x3C00; mov.b16 %h2, 0x4000; fma.rn.f16 %h3, %h1, %h2, %h2; cvt.u32.u16 %r1, %h3;",
        0x4400,
    );
    gives(
        "mov.b16 %h1, 0x3F80; mov.b16 %h2, 0x4000; add.rn.bf16 %h3, %h1, %h2; cvt.u32.u16 %r1, %h3;",
        0x4040,
    );
    gives(
        "mov.b32 %r2, 0x3C004000; mov.b32 %r3, 0x3C003C00; add.rn.f16x2 %r1, %r2, %r3;",
        0x4000_4200,
    );
    gives(
        "mov.b32 %r2, 0x3F803F80; mov.b32 %r3, 0x40004000; mov.b32 %r4, 0x3F804000; fma.rn.bf16x2 %r1, %r2, %r3, %r4;",
        0x4040_4080,
    );
    gives64("mov.b64 %d0, 0x400000003F800000; add.rn.f32x2 %d1, %d0, %d0;", 0x4080_0000_4000_0000);
    gives64(
        "mov.b64 %d0, 0x400000003F800000; fma.rn.f32x2 %d1, %d0, %d0, %d0;",
        0x40C0_0000_4000_0000,
    );
    gives("testp.subnormal.f32 %p1, 0f00000001; selp.u32 %r1, 1, 0, %p1;", 1);
}

#[test]
fn conversions() {
    gives("cvt.rzi.s32.f32 %r1, 0fC0200000;", -2i32 as u32);
    gives("cvt.rni.s32.f32 %r1, 0f40200000;", 2);
    gives("cvt.rmi.s32.f32 %r1, 0fC0200000;", -3i32 as u32);
    gives("cvt.rzi.u32.f32 %r1, 0fBF800000;", 0);
    gives("cvt.rzi.s32.f32 %r1, 0f7FC00000;", 0);
    gives("cvt.rpi.f32.f32 %r1, 0f3FA00000;", 2f32.to_bits());
    gives("cvt.rn.f32.u64 %r1, 0x1000001000000001;", 0x5D80_0001);
    gives("cvt.rz.f32.s32 %r1, 0x7FFFFFFF;", 0x4EFF_FFFF);
    gives("mov.u64 %d2, 0xFFFFFFFF80; cvt.s8.s64 %h1, %d2; cvt.s32.s16 %r1, %h1;", -128i32 as u32);
    gives("cvt.sat.s8.s32 %r1, 300;", 127);
    gives("cvt.sat.u8.s32 %r1, -5;", 0);
    gives("cvt.rn.f16.f32 %h1, 0f3F800000; cvt.u32.u16 %r1, %h1;", 0x3C00);
    gives("mov.b16 %h1, 0xC000; cvt.f32.f16 %r1, %h1;", (-2f32).to_bits());
    gives("cvt.rn.bf16.f32 %h1, 0f3F808000; cvt.u32.u16 %r1, %h1;", 0x3F80);
    gives("cvt.rn.bf16.f32 %h1, 0f3F818000; cvt.u32.u16 %r1, %h1;", 0x3F82);
    gives("mov.b16 %h1, 0x3F80; cvt.f32.bf16 %r1, %h1;", 1f32.to_bits());
    gives("cvt.rn.bf16x2.f32 %r1, 0f40000000, 0f3F800000;", 0x4000_3F80);
    gives("cvt.rn.f16x2.f32 %r1, 0f40000000, 0f3F800000;", 0x4000_3C00);
    gives("cvt.rn.satfinite.e4m3x2.f32 %h1, 0f44000000, 0f3F800000; cvt.u32.u16 %r1, %h1;", 0x7E38);
    gives("cvt.rna.tf32.f32 %r1, 0f3F801000;", 0x3F80_2000);
    gives("cvt.rn.f32.f64 %r1, 0d3FF0000010000001;", 0x3F80_0001);
    gives64("cvt.f64.f32 %d1, 0f3F800000;", 1f64.to_bits());
    gives64("cvt.s64.s32 %d1, -1;", u64::MAX);
}

#[test]
fn comparisons_and_selection() {
    let holds = |setp: &str, want: bool| {
        gives(&format!("{setp} selp.u32 %r1, 1, 0, %p1;"), u32::from(want));
    };
    holds("setp.lt.s32 %p1, -1, 1;", true);
    holds("setp.lt.u32 %p1, -1, 1;", false);
    holds("setp.lo.u32 %p1, 1, -1;", true);
    holds("setp.ge.s64 %p1, -5, -5;", true);
    holds("mov.b16 %h1, 0xFFFF; setp.gt.s16 %p1, %h1, 0;", false);
    holds("setp.lt.f32 %p1, 0f7FC00000, 0f00000000;", false);
    holds("setp.ltu.f32 %p1, 0f7FC00000, 0f00000000;", true);
    holds("setp.ne.f32 %p1, 0f7FC00000, 0f00000000;", false);
    holds("setp.num.f64 %p1, 0d3FF0000000000000, 0d0000000000000000;", true);
    holds("setp.eq.u32 %p2, 1, 1; setp.eq.and.u32 %p1, 1, 1, !%p2;", false);
    holds("setp.eq.u32 %p2|%p1, 1, 1;", false);
    holds("setp.eq.u32 %p2, 1, 1; setp.eq.u32 %p3, 1, 2; xor.pred %p1, %p2, %p3;", true);
    holds("setp.eq.u32 %p2, 1, 1; not.pred %p1, %p2;", false);
    gives("set.lt.u32.s32 %r1, -1, 0;", u32::MAX);
    gives("set.lt.f32.s32 %r1, -1, 0;", 1f32.to_bits());
    gives("slct.u32.s32 %r1, 4, 5, -1;", 5);
}

#[test]
fn moves_of_parts() {
    gives("mov.b64 %d1, {7, 9}; mov.b64 {%r2, %r1}, %d1;", 9);
    gives("mov.b32 {%h1, %h2}, 0x12345678; cvt.u32.u16 %r1, %h2;", 0x1234);
    gives("mov.b16 %h1, 0x11; mov.b16 %h2, 0x22; mov.b32 %r1, {%h1, %h2};", 0x0022_0011);
    gives64("mov.b128 %q0, {3, 4}; mov.b128 {%d2, %d1}, %q0;", 4);
    gives("mov.u32 %r1, %ntid.x; add.u32 %r1, %r1, WARP_SZ;", 33);
    gives("st.global.b8 [%a0+1], 0xFE; ld.global.s8 %r1, [%a0+1];", -2i32 as u32);
    gives("isspacep.global %p1, %a0; selp.u32 %r1, 5, 6, %p1;", 5);
}

#[test]
fn atomics() {
    gives(
        "st.global.u32 [%a0], 5; atom.global.add.u32 %r2, [%a0], 3; ld.global.u32 %r3, [%a0]; mad.lo.u32 %r1, %r2, 100, %r3;",
        508,
    );
    gives(
        "st.global.u32 [%a0], 5; atom.global.acq_rel.gpu.cas.b32 %r2, [%a0], 5, 9; ld.global.u32 %r1, [%a0];",
        9,
    );
    gives(
        "st.global.u32 [%a0], 0; red.relaxed.gpu.global.add.f32 [%a0], 0f3F800000; ld.global.u32 %r1, [%a0];",
        1f32.to_bits(),
    );
    gives(
        "st.global.s32 [%a0], -5; atom.global.max.s32 %r2, [%a0], 2; ld.global.u32 %r1, [%a0];",
        2,
    );
    lanes(
        "atom.global.add.u32 %r2, [%a0], 1; bar.warp.sync -1; ld.global.u32 %r1, [%a0]; bar.warp.sync -1;",
        |_| 32,
    );
}

#[test]
fn lanes_exchange() {
    lanes("shfl.sync.idx.b32 %r1, %r0, 5, 31, -1;", |_| 5);
    lanes("shfl.sync.down.b32 %r1|%p1, %r0, 4, 31, -1; @!%p1 mov.u32 %r1, 99;", |l| {
        if l < 28 { l + 4 } else { 99 }
    });
    lanes("shfl.sync.up.b32 %r1, %r0, 1, 0, -1;", |l| l.saturating_sub(1));
    // Segments of 8 lanes.
    lanes("shfl.sync.idx.b32 %r1, %r0, 3, 0x181F, -1;", |l| l / 8 * 8 + 3);
    lanes("shfl.sync.bfly.b32 %r1, %r0, 16, 31, -1;", |l| l ^ 16);
    lanes("setp.gt.u32 %p1, %r0, 3; vote.sync.ballot.b32 %r1, %p1, -1;", |_| 0xFFFF_FFF0);
    lanes(
        "setp.gt.u32 %p1, %r0, 3; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;",
        |_| 1,
    );
    lanes("and.b32 %r2, %r0, 1; match.any.sync.b32 %r1, %r2, -1;", |l| {
        if l % 2 == 0 { 0x5555_5555 } else { 0xAAAA_AAAA }
    });
    lanes("redux.sync.add.u32 %r1, %r0, -1;", |_| 496);
    lanes("redux.sync.min.s32 %r1, %r0, -1;", |_| 0);
    lanes(
        "elect.sync %r1|%p1, 0xFFFFFFFF; @%p1 add.u32 %r1, %r1, 7;",
        |l| if l == 0 { 7 } else { 0 },
    );
    lanes("mov.u32 %r1, %lanemask_lt;", |l| (1 << l) - 1);
    // Halves of the warp come to the same instruction apart, each with its own mask.
    lanes(
        "setp.lt.u32 %p1, %r0, 16; mov.u32 %r3, 0xFFFF0000; @%p1 mov.u32 %r3, 0xFFFF; \
         @%p1 bra LOW; add.u32 %r4, %r0, 100; shfl.sync.bfly.b32 %r1, %r4, 1, 31, %r3; bra END; \
         LOW: shfl.sync.bfly.b32 %r1, %r0, 1, 31, %r3; END:",
        |l| if l < 16 { l ^ 1 } else { (l ^ 1) + 100 },
    );
}

#[test]
fn branches_by_table() {
    lanes(
        "and.b32 %r2, %r0, 3; T: .branchtargets A, B, A, C; brx.idx %r2, T;\n\
         A: mov.u32 %r1, 10; bra E; B: mov.u32 %r1, 20; bra E; C: mov.u32 %r1, 30; E: bar.sync 0;",
        |l| [10, 20, 10, 30][l as usize % 4],
    );
}

#[test]
fn vector_atomics() {
    // Lanes add 1, 2, 3 and 4 to four elements at once; each is atomic.
    let body = "atom.relaxed.gpu.global.add.v4.f32 {%r0, %r1, %r2, %r3}, [%a0], {0f3F800000, 0f40000000, 0f40400000, 0f40800000};
        mov.b32 %r4, 0x3C004000; mov.b32 %r5, 0x44004200; mov.b32 %r6, 0x3F80BF80; mov.b32 %r7, 0x40003F80;
        red.relaxed.gpu.global.max.noftz.v2.f16x2 [%a0+16], {%r4, %r5};
        red.relaxed.gpu.global.min.noftz.v2.bf16x2 [%a0+24], {%r6, %r7}; ret;";
    let found = run(&module("", 1, body), &Shape::default(), &[&[0; 32]]).words(0, 8);
    let sums: Vec<f32> = found[..4].iter().map(|w| f32::from_bits(*w)).collect();
    assert_eq!(sums, [32.0, 64.0, 96.0, 128.0]);
    assert_eq!(found[4..], [0x3C00_4000, 0x4400_4200, 0x0000_BF80, 0]);
}

#[test]
fn reductions_of_floats_over_a_warp() {
    // Lane l has l - 10.5; lane 7 has NaN.
    let body = "mov.u32 %r0, %laneid; cvt.rn.f32.u32 %r1, %r0; sub.f32 %r1, %r1, 0f41280000;
        setp.eq.u32 %p0, %r0, 7; @%p0 mov.b32 %r1, 0x7FC00000;
        redux.sync.min.f32 %r2, %r1, -1; redux.sync.max.abs.f32 %r3, %r1, -1;
        redux.sync.min.abs.f32 %r4, %r1, -1; redux.sync.max.NaN.f32 %r5, %r1, -1;
        st.global.v4.b32 [%a0], {%r2, %r3, %r4, %r5}; ret;";
    let found = run(&module("", 1, body), &Shape::default(), &[&[0; 16]]).words(0, 4);
    let floats: Vec<f32> = found.iter().map(|w| f32::from_bits(*w)).collect();
    assert_eq!(floats[..3], [-10.5, 20.5, 0.5]);
    assert!(floats[3].is_nan());
}

#[test]
fn lanes_call_different_functions() {
    let functions = ".func (.param .b32 r) one(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, 1; st.param.b32 [r], %x; ret; }
        .func (.param .b32 r) ten(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; mul.lo.u32 %x, %x, 10; st.param.b32 [r], %x; ret; }";
    let body = "mov.u32 %r0, %laneid; and.b32 %r1, %r0, 1; setp.eq.u32 %p0, %r1, 0; mov.u64 %d0, one; mov.u64 %d1, ten;
        selp.b64 %d2, %d0, %d1, %p0;
        { .param .b32 in; .param .b32 out; st.param.b32 [in], %r0;
        P: .callprototype (.param .b32 _) _ (.param .b32 _);
        call (out), %d2, (in), P; ld.param.b32 %r2, [out]; }
        setp.lt.u32 %p1, %r0, 4;
        { .param .b32 in; .param .b32 out; st.param.b32 [in], %r2; st.param.b32 [out], %r2;
        @%p1 call (out), one, (in); ld.param.b32 %r3, [out]; }
        activemask.b32 %r4; mul.wide.u32 %d3, %r0, 8; add.u64 %d3, %a0, %d3; st.global.v2.b32 [%d3], {%r3, %r4}; ret;";
    for seed in 0..20 {
        let shape = Shape { seed, ..Shape::default() };
        let found = run(&module(functions, 1, body), &shape, &[&[0; 256]]).words(0, 64);
        for lane in 0..32u32 {
            let first = if lane % 2 == 0 { lane + 1 } else { lane * 10 };
            let second = if lane < 4 { first + 1 } else { first };
            assert_eq!(found[2 * lane as usize], second, "lane {lane}");
            assert_eq!(found[2 * lane as usize + 1], u32::MAX, "they meet again");
        }
    }
}
