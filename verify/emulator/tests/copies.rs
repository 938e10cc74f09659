//! Copies and stores that complete on mbarriers or in groups: the forms beside plain tiles, each
//! against what a loop over single elements gives.

mod common;

use baton_emulator::tensor_map::{DataType, Im2col, OobFill, Swizzle, TensorMapDesc, encode};
use common::{Run, Shape, module, run};

/// Waits for phase 0 of `bar` in thread 0, after `issue` by it; then all threads copy the first
/// 4096 bytes of `smem` to buffer 1. Buffer 0 holds a tensor map, `%a2` the tensor.
fn with_barrier(issue: &str, bytes: u32) -> String {
    let body = format!(
        "mov.u32 %r0, %tid.x; mov.u32 %r1, smem; mov.u32 %r2, bar; setp.ne.u32 %p0, %r0, 0;
         shl.b32 %r3, %r0, 5; add.u32 %r4, %r1, %r3; mov.b64 %d0, 0x7777777777777777;
         st.shared.v2.b64 [%r4], {{%d0, %d0}}; st.shared.v2.b64 [%r4+16], {{%d0, %d0}};
         @%p0 bra A; mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster; A:
         fence.proxy.async; bar.sync 0; @%p0 bra B;
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {bytes};
         {issue}
         B: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra B;
         ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r4]; ld.shared.v4.b32 {{%r14, %r15, %r16, %r17}}, [%r4+16];
         cvt.u64.u32 %d1, %r3; add.u64 %d1, %a1, %d1; st.global.v4.b32 [%d1], {{%r10, %r11, %r12, %r13}};
         st.global.v4.b32 [%d1+16], {{%r14, %r15, %r16, %r17}}; ret;"
    );
    module(".shared .align 1024 .b8 smem[4096]; .shared .align 8 .b64 bar;", 3, &body)
}

/// Element i of the tensor is i, in 16 bits.
fn tensor(elements: usize) -> Vec<u8> {
    (0..elements as u16).flat_map(u16::to_le_bytes).collect()
}

/// Runs a kernel whose map describes buffer 2, which the run places; the address is not known
/// before, so the map is made from that of a first run.
fn with_map(text: &str, describe: impl Fn(u64) -> TensorMapDesc, data: &[u8], block: u32) -> Run {
    let shape = Shape { block, ..Shape::default() };
    let buffers = |map: &[u8]| run(text, &shape, &[map, &[0; 4096], data]);
    // Buffers are placed the same way each time.
    let probe = run(&module("", 3, "ret;"), &Shape::default(), &[&[0; 128], &[0; 4096], data]);
    let map = encode(&describe(probe.addresses[2])).expect("a legal map");
    buffers(&map)
}

fn halves(run: &Run, count: usize) -> Vec<u16> {
    let words = run.words(1, count / 2);
    words.iter().flat_map(|w| [*w as u16, (*w >> 16) as u16]).collect()
}

#[test]
fn four_rows_are_gathered_and_scattered() {
    // 40 rows of 72 elements; copies of 16 columns.
    let data = tensor(40 * 72);
    let describe = |swizzle| {
        move |at| {
            let desc = TensorMapDesc::new(DataType::U16, at, &[72, 40], &[144], &[16, 1]);
            TensorMapDesc { swizzle, ..desc.expect("a description") }
        }
    };
    let rows = [3i32, 39, -2, 7];
    for (swizzle, flip) in [(Swizzle::None, false), (Swizzle::B32, true)] {
        for x in [5, 64, -4] {
            let text = with_barrier(
                &format!(
                    "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes
                     [%r1], [%a0, {{{x}, {}, {}, {}, {}}}], [%r2];",
                    rows[0], rows[1], rows[2], rows[3]
                ),
                4 * 32,
            );
            let found = with_map(&text, describe(swizzle), &data, 128);
            let found = halves(&found, 4 * 16);
            for (i, row) in rows.iter().enumerate() {
                for column in 0..16i32 {
                    let inside = (0..40).contains(row) && (0..72).contains(&(x + column));
                    let expected = if inside { (row * 72 + x + column) as u16 } else { 0 };
                    // The swizzle exchanges the halves of 32 bytes in every other line of 128.
                    let at = i * 16 + column as usize;
                    let at = if flip { at ^ (at / 64 % 2 * 8) } else { at };
                    assert_eq!(found[at], expected, "{swizzle:?} row {row} column {}", x + column);
                }
            }
        }
    }
    // Shared memory holds 0x7777 everywhere; it goes to four rows.
    let text = with_barrier(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%a0, {60, 1, 2, 50, 4}], [%r1];
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
        0,
    );
    let found = with_map(&text, describe(Swizzle::None), &data, 128);
    let words = found.words(2, 40 * 36);
    for (at, word) in words.iter().enumerate() {
        let (row, column) = (at / 36, at % 36 * 2);
        let hit = matches!(row, 1 | 2 | 4) && column >= 60;
        let plain = (2 * at) as u32 | (2 * at as u32 + 1) << 16;
        assert_eq!(*word, if hit { 0x7777_7777 } else { plain }, "row {row} column {column}");
    }
}

#[test]
fn pixels_of_a_box() {
    let mut checked = 0;
    // Spatial dimensions, the corners of the box, the first pixel, offsets, steps.
    type Case = (Vec<u64>, Vec<i32>, Vec<i32>, Vec<i32>, Vec<u16>, u32);
    let cases: [Case; 6] = [
        (vec![9], vec![0], vec![0], vec![0], vec![0], 1),
        (vec![9], vec![-1], vec![-1], vec![-1], vec![2], 1),
        (vec![5, 4], vec![-1, -1], vec![-1, -1], vec![-1, -1], vec![0, 2], 1),
        (vec![5, 4], vec![-1, -1], vec![1, 1], vec![3, 1], vec![1, 0], 1),
        (vec![6, 5], vec![0, 0], vec![-2, -2], vec![0, 0], vec![2, 1], 2),
        (vec![3, 3, 2], vec![-1, -1, 0], vec![-1, -1, 0], vec![-1, 0, 0], vec![1, 1, 0], 1),
    ];
    for (sizes, lower, upper, start, offsets, step) in cases {
        let spatial = sizes.len();
        let (channels, images) = (16u64, 3u64);
        let mut dims = vec![channels];
        dims.extend(&sizes);
        dims.push(images);
        let mut strides = Vec::new();
        let mut stride = 2 * channels;
        for size in &dims[1..] {
            strides.push(stride);
            stride *= size;
        }
        let data = tensor(dims.iter().product::<u64>() as usize);
        let (take, pixels) = (8u32, 20u32);
        for fill in [OobFill::Zeros] {
            let corner = |v: &[i32]| std::array::from_fn(|i| v.get(i).copied().unwrap_or(0));
            let im2col =
                Im2col { lower: corner(&lower), upper: corner(&upper), channels: take, pixels };
            let describe = |at| {
                let desc = TensorMapDesc::new_im2col(DataType::U16, at, &dims, &strides, im2col);
                let mut desc = desc.expect("a description");
                desc.element_strides[1..=spatial].fill(step);
                TensorMapDesc { oob_fill: fill, ..desc }
            };
            let list = |v: &[i32]| v.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
            let offset_list = offsets.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
            let text = with_barrier(
                &format!(
                    "cp.async.bulk.tensor.{}d.shared::cta.global.im2col.mbarrier::complete_tx::bytes
                     [%r1], [%a0, {{4, {}, 1}}], [%r2], {{{offset_list}}};",
                    spatial + 2,
                    list(&start)
                ),
                pixels * take * 2,
            );
            let found = with_map(&text, describe, &data, 128);
            let found = halves(&found, (pixels * take) as usize);
            // All pixels of the boxes of all images, in order; the copy starts inside.
            let mut at: Vec<i32> = start.clone();
            let mut image = 1;
            for pixel in 0..pixels as usize {
                for channel in 0..take as usize {
                    let moved: Vec<i64> =
                        (0..spatial).map(|i| i64::from(at[i]) + i64::from(offsets[i])).collect();
                    let inside = image < images
                        && (0..spatial).all(|i| (0..sizes[i] as i64).contains(&moved[i]));
                    let expected = if inside {
                        let mut index = image as i64;
                        for i in (0..spatial).rev() {
                            index = index * sizes[i] as i64 + moved[i];
                        }
                        (index * channels as i64 + 4 + channel as i64) as u16
                    } else {
                        0
                    };
                    let place = pixel * take as usize + channel;
                    assert_eq!(
                        found[place], expected,
                        "{sizes:?} {start:?} pixel {pixel} at {at:?}"
                    );
                    checked += 1;
                }
                // Count up, width first.
                let mut carry = true;
                for i in 0..spatial {
                    if carry {
                        at[i] += step as i32;
                        carry = at[i] > sizes[i] as i32 - 1 + upper[i];
                        if carry {
                            at[i] = lower[i];
                        }
                    }
                }
                image += u64::from(carry);
            }
        }
    }
    assert!(checked > 900);
}

#[test]
fn maps_are_edited_in_memory() {
    // A map of 8 × 8 tiles becomes one of 16 × 2 tiles of a narrower tensor with other strides.
    let data = tensor(40 * 72);
    let describe = |at| {
        TensorMapDesc::new(DataType::U8, at + 64, &[144, 40], &[144], &[16, 8])
            .expect("a description")
    };
    let body = "mov.u32 %r0, %tid.x; mov.u32 %r1, smem; mov.u32 %r2, bar; mov.u32 %r5, map; setp.ne.u32 %p0, %r0, 0;
        shl.b32 %r3, %r0, 2; cvt.u64.u32 %d0, %r3; add.u64 %d1, %a0, %d0; ld.global.b32 %r6, [%d1]; add.u32 %r7, %r5, %r3; st.shared.b32 [%r7], %r6;
        bar.warp.sync -1; @%p0 bra A;
        mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster;
        tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r5], %a2;
        tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r5], 1;
        tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r5], 0, 70;
        tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r5], 1, 39;
        mov.u64 %d2, 144; tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r5], 0, %d2;
        tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r5], 0, 16;
        tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r5], 1, 2;
        tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r5], 1;
        tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r5], 0;
        A: bar.warp.sync -1;
        tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%a0], [%r5], 128;
        @%p0 bra B; fence.proxy.tensormap::generic.acquire.gpu [%a0], 128;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 64;
        cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%a0, {60, 37}], [%r2];
        B: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra B;
        add.u32 %r8, %r1, %r3; ld.shared.b32 %r9, [%r8]; add.u64 %d3, %a1, %d0; st.global.b32 [%d3], %r9; ret;";
    let globals = ".shared .align 1024 .b8 smem[1024]; .shared .align 128 .b8 map[128]; .shared .align 8 .b64 bar;";
    let found = with_map(&module(globals, 3, body), describe, &data, 32);
    let found = halves(&found, 32);
    for (at, value) in found.iter().enumerate() {
        let (row, column) = (37 + at / 16, 60 + at % 16);
        let inside = row < 39 && column < 70;
        assert_eq!(
            *value,
            if inside { (row * 72 + column) as u16 } else { 0 },
            "row {row} column {column}"
        );
    }
}

#[test]
fn stores_that_complete_on_a_barrier() {
    // Each of two CTAs stores 32 vectors into the other, and then adds to counters there.
    let body = "mov.u32 %r0, %tid.x; mov.u32 %r1, smem; mov.u32 %r2, bar; setp.ne.u32 %p0, %r0, 0; mov.u32 %r3, %cluster_ctarank;
        @%p0 bra A; mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster; mov.u32 %r4, 5; st.shared.b32 [%r1+1024], %r4;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 640; A:
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
        xor.b32 %r5, %r3, 1; mapa.shared::cluster.u32 %r6, %r1, %r5; mapa.shared::cluster.u32 %r7, %r2, %r5;
        shl.b32 %r8, %r0, 4; add.u32 %r9, %r6, %r8; mad.lo.u32 %r10, %r3, 1000, %r0; add.u32 %r11, %r10, 100;
        st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r9], {%r10, %r11, %r10, 7}, [%r7];
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r6+1024], 2, [%r7];
        B: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra B;
        add.u32 %r12, %r1, %r8; ld.shared.v4.b32 {%r13, %r14, %r15, %r16}, [%r12]; ld.shared.b32 %r17, [%r1+1024];
        mad.lo.u32 %r18, %r3, 32, %r0; mul.wide.u32 %d0, %r18, 16; add.u64 %d0, %a0, %d0; add.u32 %r16, %r16, %r17;
        st.global.v4.b32 [%d0], {%r13, %r14, %r15, %r16};
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;";
    for seed in 0..20 {
        let shape = Shape { grid: 2, cluster: 2, seed, ..Shape::default() };
        let text = module(".shared .align 16 .b8 smem[2048]; .shared .align 8 .b64 bar;", 1, body);
        let found = run(&text, &shape, &[&[0; 1024]]).words(0, 256);
        for (i, vector) in found.chunks(4).enumerate() {
            let (rank, lane) = (i as u32 / 32, i as u32 % 32);
            let first = (1 - rank) * 1000 + lane;
            assert_eq!(vector, [first, first + 100, first, 7 + 5 + 64]);
        }
    }
}

#[test]
fn zeros_masks_and_reductions_in_bulk() {
    let text = with_barrier(
        "st.bulk.weak.shared::cta [%r1+64], 128, 0; mov.u32 %r20, 1; st.shared.b32 [%r1+1024], %r20; st.shared.b32 [%r1+1028], %r20;
         st.shared.b32 [%r1+1032], %r20; st.shared.b32 [%r1+1036], %r20; fence.proxy.async;
         cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r1+64], [%r1+1024], 16, [%r2];
         mov.u16 %h0, 0x8001; cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%a2], [%r1], 32, %h0;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
        16,
    );
    let shape = Shape { block: 128, ..Shape::default() };
    let found = run(&text, &shape, &[&[0; 128], &[0; 4096], &[0x11; 64]]);
    let words = found.words(1, 64);
    for (i, word) in words.iter().enumerate() {
        let expected = match i {
            16..=19 => 1,
            20..=47 => 0,
            _ => 0x7777_7777,
        };
        assert_eq!(*word, expected, "word {i}");
    }
    // Of sixteen bytes the first and the last are copied.
    let masked = found.words(2, 16);
    for (i, word) in masked.iter().enumerate() {
        let expected = match i {
            0 | 4 => 0x1111_1177,
            3 | 7 => 0x7711_1111,
            _ => 0x1111_1111,
        };
        assert_eq!(*word, expected, "word {i}");
    }
}

#[test]
fn one_replica_of_a_multimem_address() {
    let body = "setp.ne.u32 %p0, %r0, %r0; mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; @%p0 bra E;
        multimem.st.relaxed.gpu.global.v4.f32 [%a0], {0f3F800000, 0f40000000, 0f40400000, 0f40800000};
        multimem.red.relaxed.gpu.global.add.f32 [%a0], 0f3F800000;
        mov.b32 %r6, 0x3C003C00; mov.b32 %r7, 0;
        multimem.red.relaxed.gpu.global.add.v4.f16x2 [%a0+16], {%r6, %r7, %r7, %r7};
        multimem.ld_reduce.relaxed.gpu.global.add.v4.f32 {%r1, %r2, %r3, %r4}, [%a0];
        multimem.ld_reduce.relaxed.gpu.global.and.b32 %r5, [%a0+16];
        .reg .b8 %c<4>; .reg .b16 %s<2>;
        multimem.ld_reduce.relaxed.gpu.global.max.v4.e5m2 {%c0, %c1, %c2, %c3}, [%a0+16];
        multimem.ld_reduce.relaxed.gpu.global.add.acc::f16.v2.e4m3x2 {%s0, %s1}, [%a0+16];
        st.global.v4.b32 [%a1], {%r1, %r2, %r3, %r4}; st.global.b32 [%a1+16], %r5;
        st.global.v4.b8 [%a1+20], {%c0, %c1, %c2, %c3}; st.global.v2.b16 [%a1+24], {%s1, %s0}; E: ret;";
    let found = run(&module("", 2, body), &Shape::default(), &[&[0; 32], &[0; 32]]);
    let expected = [2.0f32, 2.0, 3.0, 4.0].map(f32::to_bits);
    assert_eq!(found.words(1, 4), expected);
    assert_eq!(found.words(1, 7)[4..], [0x3C00_3C00, 0x3C00_3C00, 0x3C00_3C00]);
}

#[test]
fn hints_change_no_value() {
    // Buffer 0 holds 1, 2, … 8; everything that is read goes to buffer 1.
    let body = "mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; @%p0 bra E;
        createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %d0, [%a0], 16, 32;
        ld.weak.global.L1::evict_first.L2::cache_hint.L2::64B.b32 %r1, [%a0], %d0;
        ld.weak.global.cs.b32 %r2, [%a0+4]; ld.relaxed.gpu.global.L2::cache_hint.b32 %r3, [%a0+8], %d0;
        ld.weak.b32 %r4, [%a0+12];
        st.weak.global.wt.L2::cache_hint.b32 [%a1], %r1, %d0; st.release.gpu.global.L2::cache_hint.b32 [%a1+4], %r2, %d0;
        st.weak.b32 [%a1+8], %r3; st.weak.global.L1::no_allocate.b32 [%a1+12], %r4;
        atom.relaxed.gpu.global.add.L2::cache_hint.u32 %r5, [%a0], 10, %d0;
        red.relaxed.gpu.global.add.L2::cache_hint.u32 [%a0+4], 20, %d0;
        red.async.mmio.release.sys.global.add.u32 [%a0+8], 30; atom.relaxed.gpu.exch.b32 %r6, [%a0+12], 40;
        multimem.ld_reduce.weak.global.add.e4m3x4 %r7, [%a0+16];
        ld.weak.global.L2::evict_last.v8.b32 {%r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15}, [%a0];
        st.global.v4.b32 [%a1+16], {%r5, %r6, %r7, 0};
        st.weak.global.v8.b32 [%a1+32], {%r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15}; E: ret;";
    let data: Vec<u8> = (1..=8u32).flat_map(u32::to_le_bytes).collect();
    let found = run(&module("", 2, body), &Shape::default(), &[&data, &[0; 64]]);
    assert_eq!(found.words(1, 8), [1, 2, 3, 4, 1, 4, 5, 0]);
    assert_eq!(found.words(1, 16)[8..], [11, 22, 33, 40, 5, 6, 7, 8]);
}

#[test]
fn clusters_that_have_not_started_are_taken_over() {
    // Every CTA counts the work of its own index and of those that it takes over.
    let body = "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, bar; mov.u32 %r3, answer; setp.ne.u32 %p0, %r0, 0;
        @%p0 bra E; mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster; mov.u32 %r4, 0;
        L: mul.wide.u32 %d0, %r1, 4; add.u64 %d0, %a0, %d0; atom.relaxed.gpu.global.add.u32 %r5, [%d0], 1;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;
        clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r3], [%r2];
        W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], %r4; @!%p1 bra W; xor.b32 %r4, %r4, 1;
        ld.shared.b128 %q0, [%r3]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q0;
        @!%p2 bra E; clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, %r6, %r7, _}, %q0;
        atom.relaxed.gpu.global.add.u32 %r5, [%a1], 1; fence.proxy.async.shared::cta; bra L; E: ret;";
    let mut taken = 0;
    for seed in 0..20 {
        let shape = Shape { grid: 50, seed, ..Shape::default() };
        let text = module(".shared .align 16 .b8 answer[16]; .shared .align 8 .b64 bar;", 2, body);
        let found = run(&text, &shape, &[&[0; 200], &[0; 4]]);
        assert_eq!(found.words(0, 50), [1; 50], "seed {seed}");
        taken += found.words(1, 1)[0];
    }
    assert!(taken > 100, "{taken} taken over in twenty runs");
}

/// The words of an answer mean something to `clusterlaunchcontrol.query_cancel` only.
#[test]
fn an_answer_is_opaque() {
    let body = "mov.u32 %r0, %tid.x; mov.u32 %r2, bar; mov.u32 %r3, answer; setp.ne.u32 %p0, %r0, 0; @%p0 bra E;
        mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;
        clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r3], [%r2];
        W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra W;
        ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3]; st.global.v4.u32 [%a0], {%r4, %r5, %r6, %r7}; E: ret;";
    let text = module(".shared .align 16 .b8 answer[16]; .shared .align 8 .b64 bar;", 1, body);
    let of = |seed| run(&text, &Shape { seed, ..Shape::default() }, &[&[0; 16]]).words(0, 4);
    assert_eq!(of(3), of(3));
    assert!(of(3).iter().zip(of(4)).all(|(one, other)| *one != other && *one != 0));
}
