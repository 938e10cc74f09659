//! The fifth-generation tensor core.

use baton::ptx::addr::{Addr, SharedCluster, SharedCta, Tmem};
use baton::ptx::tcgen05::kind::{F8f6f4, F16, I8, Tf32};
use baton::ptx::tcgen05::{self, Group1, Group2};
use baton::ptx::tcgen05_mma::{
    self, Buffer0, Buffer1, Buffer2, Buffer3, Discard, Fill, LastUse, Mxf4, Mxf4Block32,
    Mxf4nvf4Block16, Mxf4nvf4Block32, Mxf4nvf4Vec2, Mxf4nvf4Vec4, Mxf8f6f4, Mxf8f6f4Block32, Use,
};
use baton::ptx::tcgen05_move::{self, Lanes16x64, Lanes16x128, Lanes16x256};

/// A kernel has one `cta_group`.
macro_rules! group {
    ($($name:ident $group:ident)*) => {
        kernel! {$(
            $name {
                forms!(tcgen05::alloc<G: ($group)>(dst: Addr<SharedCta>, columns: u32));
                forms!(tcgen05::dealloc<G: ($group)>(taddr: Addr<Tmem>, columns: u32));
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
                forms!(tcgen05_move::cp_128x256b_b6x16_p32<G: ($group)>(taddr: Addr<Tmem>, desc: u64));
                forms!(tcgen05_move::cp_128x256b_b4x16_p64<G: ($group)>(taddr: Addr<Tmem>, desc: u64));
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
    other_shapes {
        forms!(tcgen05_move::ld<S: (Lanes16x64), R: ([u32; 1] [u32; 2] [u32; 4] [u32; 128])>(taddr: Addr<Tmem>));
        forms!(tcgen05_move::ld<S: (Lanes16x128), R: ([u32; 2] [u32; 4] [u32; 128])>(taddr: Addr<Tmem>));
        forms!(tcgen05_move::ld<S: (Lanes16x256), R: ([u32; 4] [u32; 8] [u32; 128])>(taddr: Addr<Tmem>));
        forms!(tcgen05_move::st<S: (Lanes16x64), R: ([u32; 1] [u32; 2] [u32; 4] [u32; 128])>(taddr: Addr<Tmem>, registers: R));
        forms!(tcgen05_move::st<S: (Lanes16x128), R: ([u32; 2] [u32; 4] [u32; 128])>(taddr: Addr<Tmem>, registers: R));
        forms!(tcgen05_move::st<S: (Lanes16x256), R: ([u32; 4] [u32; 8] [u32; 128])>(taddr: Addr<Tmem>, registers: R));
    }
}
