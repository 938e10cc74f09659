//! tcgen05: a multiplication from end to end, and what is said when a step is missing.

mod common;
use common::{Run, Shape, module, run};

const SHARED: &str = ".shared .align 1024 .b8 a[4096]; .shared .align 1024 .b8 b[1024]; \
                      .shared .align 8 .b8 bar[8]; .shared .align 4 .b8 slot[4];";

/// D = A · Bᵀ for 128 × 32 × 16 in bf16, by four warps: A's row i is i everywhere, B's row j is j
/// at k = 0 and 1 elsewhere, so D[i][j] = i · (j + 15). No swizzle: 8 × 16-byte core matrices.
fn kernel() -> String {
    let body = "mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; mov.u32 %r20, bar; mov.u32 %r21, slot; \
        mov.u32 %r22, a; mov.u32 %r23, b; setp.ne.u32 %p0, %r0, 0; setp.ne.u32 %p1, %r1, 0;\n\
        @%p0 bra J0; mbarrier.init.shared::cta.b64 [%r20], 1; J0:\n\
        @%p1 bra J1; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r21], 32; J1:\n\
        // Row r of A: core matrix r/8 is 128 bytes, its second K half 2048 bytes on.
        cvt.rn.f32.u32 %r2, %r0; cvt.rn.bf16x2.f32 %r3, %r2, %r2; shl.b32 %r4, %r0, 4; \
        add.u32 %r5, %r22, %r4; st.shared.v4.b32 [%r5], {%r3, %r3, %r3, %r3}; \
        st.shared.v4.b32 [%r5+2048], {%r3, %r3, %r3, %r3};\n\
        setp.gt.u32 %p2, %r0, 31; @%p2 bra J2; cvt.rn.bf16x2.f32 %r6, 0f3F800000, %r2; \
        mov.b32 %r7, 0x3F803F80; add.u32 %r8, %r23, %r4; \
        st.shared.v4.b32 [%r8], {%r6, %r7, %r7, %r7}; \
        st.shared.v4.b32 [%r8+512], {%r7, %r7, %r7, %r7}; J2:\n\
        fence.proxy.async; bar.sync 0; ld.shared.b32 %r9, [%r21];\n\
        @%p0 bra J3;\n\
        shr.u32 %r10, %r22, 4; cvt.u64.u32 %d1, %r10; or.b64 %d1, %d1, 0x400800800000; \
        shr.u32 %r10, %r23, 4; cvt.u64.u32 %d2, %r10; or.b64 %d2, %d2, 0x400800200000; \
        setp.ne.u32 %p3, 0, 0;\n\
        tcgen05.mma.cta_group::1.kind::f16 [%r9], %d1, %d2, 0x08080490, %p3;\n\
        tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r20];\n\
        J3: { .reg .pred q; W: mbarrier.try_wait.parity.shared::cta.b64 q, [%r20], 0; @q bra D; \
        bra W; D: }\n\
        tcgen05.fence::after_thread_sync; shl.b32 %r11, %r1, 21; add.u32 %r11, %r11, %r9;\n\
        tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r12, %r13}, [%r11+4];\n\
        tcgen05.wait::ld.sync.aligned;\n\
        mul.wide.u32 %d3, %r0, 8; add.u64 %d3, %d3, %a0; st.global.v2.b32 [%d3], {%r12, %r13};\n\
        tcgen05.fence::before_thread_sync; bar.sync 0; @%p1 bra J4;\n\
        tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 32; J4: ret;";
    module(SHARED, 1, body)
}

fn go(text: &str, seed: u64) -> Run {
    run(text, &Shape { block: 128, seed, strict: true, ..Shape::default() }, &[&[0; 1024]])
}

fn right(found: &Run) -> bool {
    let want: Vec<u32> =
        (0..256u32).map(|i| ((i / 2 * (4 + i % 2 + 15)) as f32).to_bits()).collect();
    found.result.is_ok() && found.words(0, 256) == want
}

/// Some seed gives a wrong result or an error.
#[track_caller]
fn notices(without: &str) {
    let text = kernel();
    assert!(text.contains(without), "{without}");
    let text = text.replace(without, "");
    assert!((0..100).any(|seed| !right(&go(&text, seed))), "nobody noticed: {without}");
}

#[test]
fn multiplication() {
    let text = kernel();
    for seed in 0..100 {
        let found = go(&text, seed);
        if let Err(error) = &found.result {
            panic!("{error}");
        }
        assert!(right(&found), "seed {seed}: {:x?}", &found.words(0, 256)[..8]);
    }
}

#[test]
fn missing_steps_are_noticed() {
    notices("@q bra D; bra W;");
    notices("tcgen05.wait::ld.sync.aligned;");
    notices("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r20];");
}

#[test]
fn messages_name_the_rule() {
    let fails = |from: &str, to: &str, part: &str| {
        let text = kernel();
        assert!(text.contains(from), "{from}");
        let error = go(&text.replace(from, to), 3).error();
        assert!(error.contains(part), "{part}: {error}");
    };
    fails("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 32;", "", "rule D8");
    fails("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 32;", "", "32 columns");
    fails("shl.b32 %r11, %r1, 21;", "mov.u32 %r11, 0;", "D12");
    fails("@%p0 bra J3;", "@%p1 bra J3;", "D11");
    fails("0x08080490", "0x0A080490", "D14");
    fails(
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r21], 32; J1:",
        "mov.u32 %r9, 33; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r21], %r9; J1:",
        "D9",
    );
    fails("tcgen05.commit.cta_group::1", "bra J3; tcgen05.commit.cta_group::1", "deadlock");
}
