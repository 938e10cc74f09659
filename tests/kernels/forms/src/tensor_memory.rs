//! The fifth-generation tensor core.

use baton::ptx::addr::{Addr, SharedCluster, SharedCta, Tmem};
use baton::ptx::tcgen05::kind::{F8f6f4, F16, I8, Tf32};
use baton::ptx::tcgen05::{self, Group1, Group2};
use baton::ptx::tcgen05_mma::{
    self, Buffer0, Buffer1, Buffer2, Buffer3, Discard, Fill, LastUse, Mxf4, Mxf4Block32,
    Mxf4nvf4Block16, Mxf4nvf4Block32, Mxf4nvf4Vec2, Mxf4nvf4Vec4, Mxf8f6f4, Mxf8f6f4Block32, Use,
};
use baton::ptx::tcgen05_mma_full::{self, Masked, Shifted};
use baton::ptx::tcgen05_move::{
    self, B4x16P64, B6x16P32, FloatAbs, FloatAbsNan, FloatNan, Lanes16x32x2, Lanes16x64,
    Lanes16x128, Lanes16x256, Lanes32x32, Max, Min, Rows4x256, Rows32x128, Rows64x128Pairs01,
    Rows64x128Pairs02, Rows128x128, Rows128x256,
};

/// A split of the two halves of `.16x32bx2`.
type Split16 = Lanes16x32x2<16>;
/// A in tensor memory.
type Tensor = Addr<Tmem>;

/// A kernel has one `cta_group`.
macro_rules! group {
    ($($name:ident $group:ident)*) => {
        kernel! {$(
            $name {
                forms!(tcgen05::alloc<G: ($group)>(dst: Addr<SharedCta>, columns: u32));
                forms!(tcgen05::dealloc<G: ($group)>(taddr: Addr<Tmem>, columns: u32));
                forms!(tcgen05::alloc_exclusive<G: ($group)>(dst: Addr<SharedCta>, columns: u32));
                forms!(tcgen05::dealloc_exclusive<G: ($group)>(taddr: Addr<Tmem>, columns: u32));
                forms!(tcgen05::relinquish_alloc_permit<G: ($group)>());
                forms!(tcgen05::mma<G: ($group), K: (F16 Tf32 F8f6f4 I8)>(
                    d: Addr<Tmem>, a_desc: u64, b_desc: u64, i_desc: u32, accumulate: bool
                ));
                forms!(tcgen05::mma_tmem_a<G: ($group), K: (F16 Tf32 F8f6f4 I8)>(
                    d: Addr<Tmem>, a: Addr<Tmem>, b_desc: u64, i_desc: u32, accumulate: bool
                ));
                forms!(tcgen05::commit<G: ($group), Sp: shared>(bar: Addr<Sp>));
                forms!(tcgen05::commit_multicast<G: ($group)>(bar: Addr<SharedCluster>, mask: u16));
            }
        )*}
    };
}
group!(one_cta Group1 pair_of_ctas Group2);

kernel! {
    tensor_memory {
        forms!(tcgen05::fence_before_thread_sync());
        forms!(tcgen05::fence_after_thread_sync());
        forms!(tcgen05::wait_ld());
        forms!(tcgen05::wait_st());
        forms!(tcgen05::ld_32x32b<R: (
            [u32; 1] [u32; 2] [u32; 4] [u32; 8] [u32; 16] [u32; 32] [u32; 64] [u32; 128]
        )>(taddr: Addr<Tmem>));
        forms!(tcgen05::st_32x32b<R: (
            [u32; 1] [u32; 2] [u32; 4] [u32; 8] [u32; 16] [u32; 32] [u32; 64] [u32; 128]
        )>(taddr: Addr<Tmem>, registers: R));
    }
}

/// The MMAs with every qualifier said, for one `cta_group`.
macro_rules! full_mmas {
    ($($name:ident $group:ident $scaled:ident)*) => {
        kernel! {$(
            $name {
                forms!(tcgen05_mma_full::mma_full<G: ($group), K: kinds, A: (u64 Tensor), C: (Fill Use LastUse Discard)>(
                    d: Addr<Tmem>, a: A, b: u64, i: u32, lanes: <G as Masked>::Lanes, accumulate: bool
                ));
                forms!(tcgen05_mma_full::mma_full<G: ($group), K: kinds, A: (Shifted), C: (LastUse Discard)>(
                    d: Addr<Tmem>, a: A, b: u64, i: u32, lanes: <G as Masked>::Lanes, accumulate: bool
                ));
                forms!(tcgen05_mma_full::mma_sp_full<G: ($group), K: kinds, A: (u64 Tensor), C: (Fill Use LastUse Discard)>(
                    d: Addr<Tmem>, a: A, b: u64, meta: Addr<Tmem>, i: u32, lanes: <G as Masked>::Lanes, accumulate: bool
                ));
                forms!(tcgen05_mma_full::mma_sp_full<G: ($group), K: kinds, A: (Shifted), C: (LastUse Discard)>(
                    d: Addr<Tmem>, a: A, b: u64, meta: Addr<Tmem>, i: u32, lanes: <G as Masked>::Lanes, accumulate: bool
                ));
                forms!(tcgen05_mma_full::mma_block_scale_full<
                    G: ($group), K: block_kinds, A: (u64 Tensor), C: (Fill Use LastUse Discard)
                >(
                    d: Addr<Tmem>, a: A, b: u64, i: u32, sfa: Addr<Tmem>, sfb: Addr<Tmem>, accumulate: bool
                ));
                forms!(tcgen05_mma_full::mma_sp_block_scale_full<
                    G: ($group), K: block_kinds, A: (u64 Tensor), C: (Fill Use LastUse Discard)
                >(
                    d: Addr<Tmem>, a: A, b: u64, meta: Addr<Tmem>, i: u32, sfa: Addr<Tmem>, sfb: Addr<Tmem>,
                    accumulate: bool
                ));
            }
            $scaled {
                forms!(tcgen05_mma_full::mma_scaled_full<
                    G: ($group), K: (F16 Tf32), A: (u64 Tensor), C: (Fill Use LastUse Discard); SCALE: (15)
                >(
                    d: Addr<Tmem>, a: A, b: u64, i: u32, lanes: <G as Masked>::Lanes, accumulate: bool
                ));
                forms!(tcgen05_mma_full::mma_scaled_full<
                    G: ($group), K: (F16 Tf32), A: (Shifted), C: (LastUse Discard); SCALE: (15)
                >(
                    d: Addr<Tmem>, a: A, b: u64, i: u32, lanes: <G as Masked>::Lanes, accumulate: bool
                ));
                forms!(tcgen05_mma_full::mma_sp_scaled_full<
                    G: ($group), K: (F16 Tf32), A: (u64 Tensor), C: (Fill Use LastUse Discard); SCALE: (15)
                >(
                    d: Addr<Tmem>, a: A, b: u64, meta: Addr<Tmem>, i: u32, lanes: <G as Masked>::Lanes, accumulate: bool
                ));
                forms!(tcgen05_mma_full::mma_sp_scaled_full<
                    G: ($group), K: (F16 Tf32), A: (Shifted), C: (LastUse Discard); SCALE: (15)
                >(
                    d: Addr<Tmem>, a: A, b: u64, meta: Addr<Tmem>, i: u32, lanes: <G as Masked>::Lanes, accumulate: bool
                ));
            }
        )*}
    };
}
full_mmas!(one_cta_full Group1 one_cta_scaled pair_of_ctas_full Group2 pair_of_ctas_scaled);

/// The MMAs beyond [`tcgen05::mma`], for one `cta_group`.
macro_rules! other_mmas {
    ($($name:ident $group:ident)*) => {
        kernel! {$(
            $name {
                forms!(tcgen05_mma::mma_collect<G: ($group), K: kinds, C: (Fill Use LastUse Discard)>(
                    d: Addr<Tmem>, a: u64, b: u64, i: u32, accumulate: bool
                ));
                forms!(tcgen05_mma::mma_collect_tmem_a<G: ($group), K: kinds, C: (Fill Use LastUse Discard)>(
                    d: Addr<Tmem>, a: Addr<Tmem>, b: u64, i: u32, accumulate: bool
                ));
                forms!(tcgen05_mma::mma_sp<G: ($group), K: kinds>(
                    d: Addr<Tmem>, a: u64, b: u64, meta: Addr<Tmem>, i: u32, accumulate: bool
                ));
                forms!(tcgen05_mma::mma_sp_tmem_a<G: ($group), K: kinds>(
                    d: Addr<Tmem>, a: Addr<Tmem>, b: u64, meta: Addr<Tmem>, i: u32, accumulate: bool
                ));
                forms!(tcgen05_mma::mma_scaled<G: ($group), K: (F16 Tf32); SCALE: (0 15)>(
                    d: Addr<Tmem>, a: u64, b: u64, i: u32, accumulate: bool
                ));
                forms!(tcgen05_mma::mma_scaled_tmem_a<G: ($group), K: (F16 Tf32); SCALE: (0 15)>(
                    d: Addr<Tmem>, a: Addr<Tmem>, b: u64, i: u32, accumulate: bool
                ));
                forms!(tcgen05_mma::mma_ashift<G: ($group), K: kinds>(
                    d: Addr<Tmem>, a: Addr<Tmem>, b: u64, i: u32, accumulate: bool
                ));
                forms!(tcgen05_mma::mma_block_scale<G: ($group), K: block_kinds>(
                    d: Addr<Tmem>, a: u64, b: u64, i: u32, sfa: Addr<Tmem>, sfb: Addr<Tmem>, accumulate: bool
                ));
                forms!(tcgen05_mma::mma_block_scale_tmem_a<G: ($group), K: block_kinds>(
                    d: Addr<Tmem>, a: Addr<Tmem>, b: u64, i: u32, sfa: Addr<Tmem>, sfb: Addr<Tmem>, accumulate: bool
                ));
                forms!(tcgen05_mma::mma_sp_block_scale<G: ($group), K: block_kinds>(
                    d: Addr<Tmem>, a: u64, b: u64, meta: Addr<Tmem>, i: u32, sfa: Addr<Tmem>, sfb: Addr<Tmem>,
                    accumulate: bool
                ));
                forms!(tcgen05_mma::mma_sp_block_scale_tmem_a<G: ($group), K: block_kinds>(
                    d: Addr<Tmem>, a: Addr<Tmem>, b: u64, meta: Addr<Tmem>, i: u32, sfa: Addr<Tmem>, sfb: Addr<Tmem>,
                    accumulate: bool
                ));
                forms!(tcgen05_move::cp_128x256b<G: ($group)>(taddr: Addr<Tmem>, desc: u64));
                forms!(tcgen05_move::cp_4x256b<G: ($group)>(taddr: Addr<Tmem>, desc: u64));
                forms!(tcgen05_move::cp_128x128b<G: ($group)>(taddr: Addr<Tmem>, desc: u64));
                forms!(tcgen05_move::cp_64x128b_warpx2_02_13<G: ($group)>(taddr: Addr<Tmem>, desc: u64));
                forms!(tcgen05_move::cp_64x128b_warpx2_01_23<G: ($group)>(taddr: Addr<Tmem>, desc: u64));
                forms!(tcgen05_move::cp_32x128b_warpx4<G: ($group)>(taddr: Addr<Tmem>, desc: u64));
                forms!(tcgen05_move::cp_decompress<
                    G: ($group),
                    S: (Rows128x256 Rows4x256 Rows128x128 Rows64x128Pairs02 Rows64x128Pairs01 Rows32x128),
                    F: (B6x16P32 B4x16P64)
                >(taddr: Addr<Tmem>, desc: u64));
                forms!(tcgen05_move::shift_down<G: ($group)>(taddr: Addr<Tmem>));
            }
        )*}
    };
}
other_mmas!(one_cta_more Group1 pair_of_ctas_more Group2);

kernel! {
    lanes_left_out {
        forms!(tcgen05_mma::mma_disable_lanes<K: kinds>(
            d: Addr<Tmem>, a: u64, b: u64, i: u32, lanes: [u32; 4], accumulate: bool
        ));
    }
    lanes_left_out_of_pair {
        forms!(tcgen05_mma::mma_disable_lanes_pair<K: kinds>(
            d: Addr<Tmem>, a: u64, b: u64, i: u32, lanes: [u32; 8], accumulate: bool
        ));
    }
    weight_stationary {
        forms!(tcgen05_mma::mma_ws<K: kinds>(d: Addr<Tmem>, a: u64, b: u64, i: u32, accumulate: bool));
        forms!(tcgen05_mma::mma_ws_tmem_a<K: kinds>(d: Addr<Tmem>, a: Addr<Tmem>, b: u64, i: u32, accumulate: bool));
        forms!(tcgen05_mma::mma_ws_sp<K: kinds>(
            d: Addr<Tmem>, a: u64, b: u64, meta: Addr<Tmem>, i: u32, accumulate: bool
        ));
        forms!(tcgen05_mma::mma_ws_sp_tmem_a<K: kinds>(
            d: Addr<Tmem>, a: Addr<Tmem>, b: u64, meta: Addr<Tmem>, i: u32, accumulate: bool
        ));
        forms!(tcgen05_mma::mma_ws_collect<K: kinds, U: buffers, C: (Fill Use LastUse Discard)>(
            d: Addr<Tmem>, a: u64, b: u64, i: u32, accumulate: bool
        ));
        forms!(tcgen05_mma::mma_ws_collect_tmem_a<K: kinds, U: buffers, C: (Fill Use LastUse Discard)>(
            d: Addr<Tmem>, a: Addr<Tmem>, b: u64, i: u32, accumulate: bool
        ));
        forms!(tcgen05_mma::mma_ws_zero_columns<K: kinds>(
            d: Addr<Tmem>, a: u64, b: u64, i: u32, columns: u64, accumulate: bool
        ));
        forms!(tcgen05_mma::mma_ws_zero_columns_tmem_a<K: kinds>(
            d: Addr<Tmem>, a: Addr<Tmem>, b: u64, i: u32, columns: u64, accumulate: bool
        ));
    }
    weight_stationary_full {
        forms!(tcgen05_mma_full::mma_ws_full<K: kinds, A: (u64 Tensor), U: buffers, C: (Fill Use LastUse Discard)>(
            d: Addr<Tmem>, a: A, b: u64, i: u32, columns: u64, accumulate: bool
        ));
        forms!(tcgen05_mma_full::mma_ws_sp_full<K: kinds, A: (u64 Tensor), U: buffers, C: (Fill Use LastUse Discard)>(
            d: Addr<Tmem>, a: A, b: u64, meta: Addr<Tmem>, i: u32, columns: u64, accumulate: bool
        ));
    }
}

/// An access of every shape, with registers of few lengths and the most.
macro_rules! shapes {
    ($($name:ident: $move:ident($($arg:ident: $ty:ty),*);)*) => {
        kernel! {$(
            $name {
                forms!(tcgen05_move::$move<S: (Lanes32x32 Split16 Lanes16x64), R: ([u32; 1] [u32; 2] [u32; 128])>($($arg: $ty),*));
                forms!(tcgen05_move::$move<S: (Lanes16x128), R: ([u32; 2] [u32; 4] [u32; 128])>($($arg: $ty),*));
                forms!(tcgen05_move::$move<S: (Lanes16x256), R: ([u32; 4] [u32; 8] [u32; 128])>($($arg: $ty),*));
            }
        )*}
    };
}
shapes! {
    loads_of_shapes: ld(taddr: Addr<Tmem>);
    packing_loads: ld_pack(taddr: Addr<Tmem>);
    stores_of_shapes: st(taddr: Addr<Tmem>, registers: R);
    unpacking_stores: st_unpack(taddr: Addr<Tmem>, registers: R);
}

kernel! {
    reducing_loads {
        forms!(tcgen05_move::ld_red<
            S: (Lanes32x32 Split16), R: ([u32; 2] [u32; 4] [u32; 128]), O: (Min Max),
            T: (u32 i32 f32 FloatAbs FloatNan FloatAbsNan)
        >(taddr: Addr<Tmem>));
    }
}
