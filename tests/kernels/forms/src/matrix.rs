//! Matrices in the registers of a warpgroup or a warp.

use baton::float::f16x2;
use baton::ptx::addr::{Addr, SharedCta};
use baton::ptx::wgmma::pair::{
    Bf16, E4m3E4m3, E4m3E5m2, E5m2E4m3, E5m2E5m2, F16, S8S8, S8U8, Tf32, U8S8, U8U8,
};
use baton::ptx::{matrix, wgmma};

kernel! {
    warpgroup_groups {
        forms!(wgmma::fence());
        forms!(wgmma::commit_group());
        forms!(wgmma::wait_group<; PENDING: (0 3)>());
    }
    warpgroup_pairs {
        forms!(wgmma::mma_async<P: (F16 Bf16 Tf32 E4m3E4m3 E4m3E5m2 E5m2E4m3 E5m2E5m2), D: ([f32; 4] [f32; 8])>(
            d: D, a_desc: u64, b_desc: u64, accumulate: bool
        ));
        forms!(wgmma::mma_async<P: (F16 E4m3E4m3 E4m3E5m2 E5m2E4m3 E5m2E5m2), D: ([f16x2; 2] [f16x2; 8])>(
            d: D, a_desc: u64, b_desc: u64, accumulate: bool
        ));
        forms!(wgmma::mma_async<P: (S8S8 S8U8 U8S8 U8U8), D: ([i32; 4] [i32; 16])>(
            d: D, a_desc: u64, b_desc: u64, accumulate: bool
        ));
        forms!(wgmma::mma_async_transposed<P: (F16 Bf16), D: ([f32; 4]); TA: (0 1), TB: (0 1)>(
            d: D, a_desc: u64, b_desc: u64, accumulate: bool
        ));
        forms!(wgmma::mma_async_negated<P: (F16 Bf16), D: ([f32; 4]); NA: (0 1), NB: (0 1), TA: (0 1), TB: (0 1)>(
            d: D, a_desc: u64, b_desc: u64, accumulate: bool
        ));
        forms!(wgmma::mma_async_negated<P: (Tf32 E4m3E4m3 E4m3E5m2 E5m2E4m3 E5m2E5m2), D: ([f32; 4]); NA: (0 1), NB: (0 1), TA: (0), TB: (0)>(
            d: D, a_desc: u64, b_desc: u64, accumulate: bool
        ));
        forms!(wgmma::mma_async_registers_negated<P: (F16 Bf16), D: ([f32; 4]); NA: (0 1), NB: (0 1), TB: (0 1)>(
            d: D, a: [u32; 4], b_desc: u64, accumulate: bool
        ));
        forms!(wgmma::mma_async_registers_negated<P: (Tf32 E4m3E4m3 E4m3E5m2 E5m2E4m3 E5m2E5m2), D: ([f32; 4]); NA: (0 1), NB: (0 1), TB: (0)>(
            d: D, a: [u32; 4], b_desc: u64, accumulate: bool
        ));
        forms!(wgmma::mma_async_registers<P: (F16 Bf16 Tf32 E4m3E4m3 E4m3E5m2 E5m2E4m3 E5m2E5m2), D: ([f32; 4] [f32; 8])>(
            d: D, a: [u32; 4], b_desc: u64, accumulate: bool
        ));
        forms!(wgmma::mma_async_registers<P: (F16 E4m3E4m3 E4m3E5m2 E5m2E4m3 E5m2E5m2), D: ([f16x2; 2])>(
            d: D, a: [u32; 4], b_desc: u64, accumulate: bool
        ));
        forms!(wgmma::mma_async_registers<P: (S8S8 S8U8 U8S8 U8U8), D: ([i32; 4])>(
            d: D, a: [u32; 4], b_desc: u64, accumulate: bool
        ));
    }
}

kernel! {
    tiles {
        forms!(matrix::ldmatrix<R: ([u32; 1] [u32; 2] [u32; 4])>(addr: Addr<SharedCta>));
        forms!(matrix::ldmatrix_trans<R: ([u32; 1] [u32; 2] [u32; 4])>(addr: Addr<SharedCta>));
        forms!(matrix::stmatrix<R: ([u32; 1] [u32; 2] [u32; 4])>(addr: Addr<SharedCta>, registers: R));
        forms!(matrix::stmatrix_trans<R: ([u32; 1] [u32; 2] [u32; 4])>(addr: Addr<SharedCta>, registers: R));
        forms!(matrix::movmatrix_trans(tile: u32));
    }
    products {
        forms!(matrix::mma_m16n8k16_f32_f16(d: [f32; 4], a: [u32; 4], b: [u32; 2]));
        forms!(matrix::mma_m16n8k8_f32_f16(d: [f32; 4], a: [u32; 2], b: [u32; 1]));
        forms!(matrix::mma_m16n8k16_f16_f16(d: [f16x2; 2], a: [u32; 4], b: [u32; 2]));
        forms!(matrix::mma_m16n8k8_f16_f16(d: [f16x2; 2], a: [u32; 2], b: [u32; 1]));
        forms!(matrix::mma_m16n8k16_f32_bf16(d: [f32; 4], a: [u32; 4], b: [u32; 2]));
        forms!(matrix::mma_m16n8k8_f32_bf16(d: [f32; 4], a: [u32; 2], b: [u32; 1]));
        forms!(matrix::mma_m16n8k8_f32_tf32(d: [f32; 4], a: [u32; 4], b: [u32; 2]));
        forms!(matrix::mma_m16n8k4_f32_tf32(d: [f32; 4], a: [u32; 2], b: [u32; 1]));
    }
}
