//! The same kernel on layer 0 alone, as it is written by hand: the measure of what the types cost.
//!
//! Roles, hand-overs and the order of instructions are those of [`gemm_f32`](crate::gemm_f32). What the types know there, the
//! author knows here: where each barrier lies, whose turn each phase is, how many bytes come, which fence stands
//! where. A test compares the instructions of the loops of both.

use baton::layout::{Base, Layout};
use baton::prelude::*;
use baton::ptx::addr::{Addr, SharedCta, Tmem};
use baton::ptx::tcgen05::{Group1, kind};
use baton::ptx::{barrier, bulk, fence, ld, mbarrier, sreg, st, tcgen05, tensor, warp as lanes};
use baton::scope::Cta as CtaScope;
use baton::sem::{Acquire, Release};
use baton::tile::BulkTile;

use super::{
    ACCUMULATORS, CHUNK, STAGES, Store, TILE_K, TILE_M, TILE_N, TileA, TileB, TileC, Tiles,
};

type C = TileC<f32>;

// Where things lie in shared memory.
const BARRIER: u32 = 8;
const STAGE: u32 = TileA::BYTES + TileB::BYTES;
const FULL: u32 = STAGES * STAGE;
const EMPTY: u32 = FULL + STAGES * BARRIER;
const ACC_FULL: u32 = EMPTY + STAGES * BARRIER;
const ACC_EMPTY: u32 = ACC_FULL + ACCUMULATORS * BARRIER;
const OUT: u32 = (ACC_EMPTY + ACCUMULATORS * BARRIER).next_multiple_of(1024);
const TENSOR: u32 = OUT + C::BYTES;
const BYTES: u32 = TENSOR + 4;

/// Columns of tensor memory.
const COLUMNS: u32 = ACCUMULATORS * TILE_N as u32;
/// Threads of the epilogue, and the number of their barrier.
const EPILOGUE: u32 = 128;
const EPILOGUE_BARRIER: u32 = 1;

/// Matrix descriptor of a K-major tile in the 128-byte swizzle, without its address: 1024 bytes between groups of
/// eight rows, version 1, swizzle mode 2 (PTX ISA 9.7.16.4.1).
const MATRIX: u64 = 1024 >> 4 << 32 | 1 << 46 | 2 << 61;
/// Instruction descriptor: bf16 × bf16 → f32, 128 × 128 (PTX ISA 9.7.16.4.2).
const INSTRUCTION: u32 =
    1 << 4 | 1 << 7 | 1 << 10 | (TILE_N as u32 >> 3) << 17 | (TILE_M as u32 >> 4) << 24;

/// Shared memory of which the author keeps track.
pub struct Raw(());

// SAFETY: there are no fields; `init` initialises the barriers, which lie in the first BYTES.
unsafe impl Layout for Raw {
    const BYTES: u32 = BYTES;
    // Allocated by hand.
    const COLUMNS: u32 = 0;
    type Parts<'k> = Addr<SharedCta>;
    type Closed<'k> = ();
    #[inline(always)]
    unsafe fn init(base: Base, _: u32) {
        let mut at = FULL;
        while at < ACC_EMPTY + ACCUMULATORS * BARRIER {
            // SAFETY: a barrier's place, before anyone uses it.
            unsafe { mbarrier::init(base.offset(at), 1) };
            at += BARRIER;
        }
    }
    #[inline(always)]
    unsafe fn parts<'k>(base: Base, _: u32) -> Self::Parts<'k> {
        base
    }
}

/// C = A · Bᵀ, f32, as [`gemm_f32`](crate::gemm_f32).
#[baton::kernel(threads = 192, no_stack, min_ctas = 1)]
pub fn gemm_raw_f32(
    cta: Cta<'_, Raw, 192>,
    a: TensorMap<TileA>,
    b: TensorMap<TileB>,
    c: TensorMap<C, Store>,
    rows: u32,
    columns: u32,
    steps: u32,
) -> Exit<'_> {
    let (cta, base) = cta.claim();
    let tiles =
        Tiles { next: sreg::ctaid_x(), step: sreg::nctaid_x(), end: rows * columns, columns };
    let thread = sreg::tid_x();
    // SAFETY: by hand. The claim has initialised the barriers; each role below is run by its own warps, and the
    // hand-overs between them are those of the typed kernel, one for one.
    unsafe {
        if thread < 32 {
            tcgen05::alloc::<Group1>(base.offset(TENSOR), COLUMNS);
            tcgen05::relinquish_alloc_permit::<Group1>();
        }
        barrier::bar_sync(0);
        let columns: u32 = ld::ld_weak(base.offset(TENSOR));
        if thread < EPILOGUE {
            epilogue(base, columns, c, tiles, thread);
        } else if thread < EPILOGUE + 32 {
            if lanes::elect_sync(u32::MAX) {
                copy(base, a, b, tiles, steps);
            }
        } else if lanes::elect_sync(u32::MAX) {
            multiply(base, columns, tiles, steps);
        }
        // Lanes that were not elected come early.
        barrier::bar_warp_sync(u32::MAX);
        barrier::bar_sync(0);
        if thread < 32 {
            tcgen05::dealloc::<Group1>(Addr::from_raw(columns), COLUMNS);
        }
    }
    cta.join().exit(())
}

#[inline(always)]
unsafe fn wait(barrier: Addr<SharedCta>, parity: u32) {
    // SAFETY: the caller names a barrier of the ring.
    unsafe { mbarrier::wait_parity::<Acquire, CtaScope>(barrier, parity) }
}

/// Loads A's and B's tiles, stage by stage.
#[inline(always)]
unsafe fn copy(
    base: Addr<SharedCta>,
    a: TensorMap<TileA>,
    b: TensorMap<TileB>,
    tiles: Tiles,
    steps: u32,
) {
    let (mut stage, mut phase) = (0, 0);
    for (row, column) in tiles {
        let mut step = 0;
        while step < steps {
            let k = (step * TILE_K as u32) as i32;
            let data = base.offset(stage * STAGE);
            let full = base.offset(FULL + stage * BARRIER);
            // SAFETY: the stage is empty once its phase has completed; its bytes are announced first.
            unsafe {
                wait(base.offset(EMPTY + stage * BARRIER), phase ^ 1);
                mbarrier::arrive_expect_tx::<Release, CtaScope>(full, STAGE);
                tensor::cp_async_bulk_tensor_to_shared(
                    data.in_cluster(),
                    a.address(),
                    [k, row],
                    full.in_cluster(),
                );
                tensor::cp_async_bulk_tensor_to_shared(
                    data.offset(TileA::BYTES).in_cluster(),
                    b.address(),
                    [k, column],
                    full.in_cluster(),
                );
            }
            (stage, phase) = next::<STAGES>(stage, phase);
            step += 1;
        }
    }
    // The CTA must not exit before the last copies have landed.
    let mut last = 0;
    while last < STAGES {
        let parity = if last < stage { phase } else { phase ^ 1 };
        // SAFETY: the parity of the last fill, or of the phase before the first.
        unsafe { wait(base.offset(FULL + last * BARRIER), parity) };
        last += 1;
    }
}

/// Multiplies stage by stage into one accumulator after the other.
#[inline(always)]
unsafe fn multiply(base: Addr<SharedCta>, columns: u32, tiles: Tiles, steps: u32) {
    let (mut stage, mut phase) = (0, 0);
    let (mut acc, mut acc_phase) = (0, 0);
    for _ in tiles {
        let accumulator = Addr::<Tmem>::from_raw(columns + acc * TILE_N as u32);
        // SAFETY: drained, and the loads are ordered before what follows.
        unsafe { wait(base.offset(ACC_EMPTY + acc * BARRIER), acc_phase ^ 1) };
        tcgen05::fence_after_thread_sync();
        let mut accumulate = false;
        let mut step = 0;
        while step < steps {
            // SAFETY: the stage is full, and goes back when the instructions that read it have completed.
            unsafe {
                wait(base.offset(FULL + stage * BARRIER), phase);
                let data = base.offset(stage * STAGE);
                let a = MATRIX | ((data.raw() as u64 & 0x3_FFFF) >> 4);
                let b = MATRIX | ((data.offset(TileA::BYTES).raw() as u64 & 0x3_FFFF) >> 4);
                let mut part = 0;
                while part < TILE_K as u64 / 16 {
                    // 16 elements of K are 32 bytes.
                    tcgen05::mma::<Group1, kind::F16>(
                        accumulator,
                        a + 2 * part,
                        b + 2 * part,
                        INSTRUCTION,
                        accumulate || part > 0,
                    );
                    part += 1;
                }
                tcgen05::commit::<Group1, SharedCta>(base.offset(EMPTY + stage * BARRIER));
            }
            accumulate = true;
            (stage, phase) = next::<STAGES>(stage, phase);
            step += 1;
        }
        // SAFETY: one arrival a phase, when all of this thread's instructions have completed.
        unsafe { tcgen05::commit::<Group1, SharedCta>(base.offset(ACC_FULL + acc * BARRIER)) };
        (acc, acc_phase) = next::<ACCUMULATORS>(acc, acc_phase);
    }
}

/// Moves accumulators to C through shared memory.
#[inline(always)]
unsafe fn epilogue(
    base: Addr<SharedCta>,
    columns: u32,
    c: TensorMap<C, Store>,
    tiles: Tiles,
    thread: u32,
) {
    let out = base.offset(OUT);
    let (mut acc, mut phase) = (0, 0);
    for (row, column) in tiles {
        // SAFETY: each warp reads its own lanes of a full accumulator, each thread writes its own row; the fences and
        // the barrier of the four warps stand between that and what the leader hands on.
        unsafe {
            wait(base.offset(ACC_FULL + acc * BARRIER), phase);
            tcgen05::fence_after_thread_sync();
            let accumulator = Addr::<Tmem>::from_raw(columns + acc * TILE_N as u32);
            let mut col = 0;
            while col < TILE_N as u32 {
                let at = accumulator.cell(thread / 32 * 32, col);
                let values = tcgen05::wait_ld_of(tcgen05::ld_32x32b::<[u32; CHUNK]>(at));
                let mut i = 0;
                while i < CHUNK {
                    let four = [values[i], values[i + 1], values[i + 2], values[i + 3]];
                    st::st_weak_v4(out.offset(C::offset(thread, col + i as u32)), four);
                    i += 4;
                }
                col += CHUNK as u32;
            }
            tcgen05::fence_before_thread_sync();
            fence::fence_proxy_async_in::<SharedCta>();
            barrier::bar_sync_count(EPILOGUE_BARRIER, EPILOGUE);
            if thread == 0 {
                let empty = base.offset(ACC_EMPTY + acc * BARRIER);
                mbarrier::arrive::<Release, CtaScope>(empty);
                let mut panel = 0;
                while panel < C::PANELS {
                    tensor::cp_async_bulk_tensor_to_global(
                        c.address(),
                        [column + (panel * C::PANEL_COLS) as i32, row],
                        out.offset(panel * (C::BYTES / C::PANELS)),
                    );
                    panel += 1;
                }
                bulk::commit_group();
                bulk::wait_group_read::<0>();
            }
            barrier::bar_sync_count(EPILOGUE_BARRIER, EPILOGUE);
        }
        (acc, phase) = next::<ACCUMULATORS>(acc, phase);
    }
}

/// The next stage of a ring of `N`, and the parity of its phase.
#[inline(always)]
fn next<const N: u32>(stage: u32, phase: u32) -> (u32, u32) {
    if stage + 1 == N { (0, phase ^ 1) } else { (stage + 1, phase) }
}
