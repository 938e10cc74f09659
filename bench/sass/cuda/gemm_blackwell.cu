// Twin of `examples/gemm-blackwell`.
#include "tile.cuh"

constexpr uint32_t TILE_M = 128, TILE_N = 128, TILE_K = 64, STAGES = 4, ACCUMULATORS = 2, CHUNK = 32;
constexpr uint32_t TILE_A = TILE_M * TILE_K * 2, TILE_B = TILE_N * TILE_K * 2, STAGE = TILE_A + TILE_B;
constexpr uint32_t PANEL = TILE_M * PANEL_ROW, PANELS = TILE_N * 4 / PANEL_ROW;
// Columns of tensor memory.
constexpr uint32_t COLUMNS = ACCUMULATORS * TILE_N;
// bf16 × bf16 → f32, 128 × 128.
constexpr uint32_t INSTRUCTION = 1 << 4 | 1 << 7 | 1 << 10 | (TILE_N >> 3) << 17 | (TILE_M >> 4) << 24;

// Matrix descriptor of a K-major tile in the 128-byte swizzle: 1024 bytes between groups of eight rows, version 1,
// swizzle mode 2.
__device__ uint64_t matrix(const char* tile) {
    return uint64_t(1024 >> 4) << 32 | uint64_t(1) << 46 | uint64_t(2) << 61 | (shared_address(tile) & 0x3ffff) >> 4;
}

// A product is handed over by the fences of tcgen05: the wait between them needs no order.
__device__ void wait_relaxed(uint64_t* barrier, uint32_t parity) {
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_relaxed, ptx::scope_cta, barrier, parity)) {
    }
}

__device__ void epilogue_barrier() { asm volatile("bar.sync 1, 128;" ::: "memory"); }

extern "C" __global__ void __block_size__((192, 1, 1))
    gemm_f32(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
             const __grid_constant__ CUtensorMap c, uint32_t rows, uint32_t columns, uint32_t steps) {
    extern __shared__ __align__(1024) char shared[];
    char* const out = shared + STAGES * STAGE;
    uint64_t* const full = reinterpret_cast<uint64_t*>(out + PANELS * PANEL);
    uint64_t* const empty = full + STAGES;
    uint64_t* const acc_full = empty + STAGES;
    uint64_t* const acc_empty = acc_full + ACCUMULATORS;
    uint32_t* const tensor_address = reinterpret_cast<uint32_t*>(acc_empty + ACCUMULATORS);
    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < STAGES; i++) {
            ptx::mbarrier_init(&full[i], 1);
            ptx::mbarrier_init(&empty[i], 1);
        }
        for (uint32_t i = 0; i < ACCUMULATORS; i++) {
            ptx::mbarrier_init(&acc_full[i], 1);
            ptx::mbarrier_init(&acc_empty[i], 1);
        }
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    if (threadIdx.x >= 160) {
        ptx::tcgen05_alloc(ptx::cta_group_1, tensor_address, uint32_t(COLUMNS));
        ptx::tcgen05_relinquish_alloc_permit(ptx::cta_group_1);
    }
    __syncthreads();
    const uint32_t tensor = *tensor_address;
    const uint32_t tiles = rows * columns;
    Turn<STAGES> turn;
    Turn<ACCUMULATORS> acc;
    if (threadIdx.x < 128) {
        const uint32_t row = threadIdx.x;
        for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            wait_relaxed(&acc_full[acc.index], acc.phase);
            ptx::tcgen05_fence_after_thread_sync();
            const uint32_t lane = tensor + acc.index * TILE_N + (threadIdx.x / 32 << 21);
            for (uint32_t panel = 0; panel < PANELS; panel++) {
                uint32_t values[CHUNK];
                ptx::tcgen05_ld_32x32b(values, lane + panel * CHUNK);
                ptx::tcgen05_wait_ld();
                for (uint32_t i = 0; i < CHUNK; i += 4)
                    *reinterpret_cast<uint4*>(swizzled(out + panel * PANEL, row, i * 4)) = {
                        values[i], values[i + 1], values[i + 2], values[i + 3]};
            }
            ptx::tcgen05_fence_before_thread_sync();
            ptx::fence_proxy_async(ptx::space_shared);
            epilogue_barrier();
            if (threadIdx.x == 0) {
                // It hands over the loads of the others, too, which it learnt of behind its fence.
                arrive(&acc_empty[acc.index]);
                for (uint32_t i = 0; i < PANELS; i++) {
                    const int32_t at[2] = {int32_t(tile % columns * TILE_N + 32 * i), int32_t(tile / columns * TILE_M)};
                    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &c, at, out + i * PANEL);
                }
                ptx::cp_async_bulk_commit_group();
                ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
            }
            epilogue_barrier();
            acc.next();
        }
    } else if (threadIdx.x < 160) {
        if (ptx::elect_sync(~0u)) {
            for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
#pragma unroll 1
                for (uint32_t step = 0; step < steps; step++) {
                    char* const stage = shared + turn.index * STAGE;
                    wait(&empty[turn.index], turn.phase ^ 1);
                    arrive_expect(&full[turn.index], STAGE);
                    const int32_t k = step * TILE_K;
                    const int32_t of_a[2] = {k, int32_t(tile / columns * TILE_M)};
                    const int32_t of_b[2] = {k, int32_t(tile % columns * TILE_N)};
                    load(stage, a, of_a, &full[turn.index]);
                    load(stage + TILE_A, b, of_b, &full[turn.index]);
                    turn.next();
                }
            }
        }
    } else if (ptx::elect_sync(~0u)) {
        for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            wait(&acc_empty[acc.index], acc.phase ^ 1);
            ptx::tcgen05_fence_after_thread_sync();
#pragma unroll 1
            for (uint32_t step = 0; step < steps; step++) {
                wait(&full[turn.index], turn.phase);
                const char* const stage = shared + turn.index * STAGE;
                const uint64_t of_a = matrix(stage), of_b = matrix(stage + TILE_A);
                // 16 elements of K are 32 bytes.
                for (uint32_t part = 0; part < TILE_K / 16; part++)
                    ptx::tcgen05_mma<ptx::dot_kind::f16>(ptx::kind_f16, ptx::cta_group_1, tensor + acc.index * TILE_N,
                                                         of_a + 2 * part, of_b + 2 * part, INSTRUCTION,
                                                         step > 0 || part > 0);
                ptx::tcgen05_commit(ptx::cta_group_1, &empty[turn.index]);
                turn.next();
            }
            ptx::tcgen05_commit(ptx::cta_group_1, &acc_full[acc.index]);
            acc.next();
        }
    }
    __syncthreads();
    if (threadIdx.x >= 160) ptx::tcgen05_dealloc(ptx::cta_group_1, tensor, uint32_t(COLUMNS));
}
