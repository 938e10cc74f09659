// Twin of `examples/bulk-copy`.
#include "tile.cuh"

constexpr uint32_t ROWS = 128, COLS = 32, STAGES = 3, TILE = ROWS * COLS * 4;

// 16 bytes of a row.
__device__ float4& chunk(char* tile, uint32_t row, uint32_t number) {
    return *reinterpret_cast<float4*>(swizzled(tile, row, number * 16));
}

__device__ void named_barrier() { asm volatile("bar.sync 1, 128;" ::: "memory"); }

extern "C" __global__ void __block_size__((160, 1, 1))
    scale(const __grid_constant__ CUtensorMap input, const __grid_constant__ CUtensorMap output, uint32_t rows,
          uint32_t columns, float factor) {
    extern __shared__ __align__(1024) char shared[];
    char* const out = shared + STAGES * TILE;
    uint64_t* const full = reinterpret_cast<uint64_t*>(out + TILE);
    uint64_t* const empty = full + STAGES;
    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < STAGES; i++) {
            ptx::mbarrier_init(&full[i], 1);
            ptx::mbarrier_init(&empty[i], 1);
        }
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    const uint32_t tiles = rows * columns;
    Turn<STAGES> turn;
    if (threadIdx.x < 128) {
        const uint32_t row = threadIdx.x;
        for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            char* const stage = shared + turn.index * TILE;
            wait(&full[turn.index], turn.phase);
            for (uint32_t i = 0; i < COLS / 4; i++) {
                float4 value = chunk(stage, row, i);
                value.x *= factor, value.y *= factor, value.z *= factor, value.w *= factor;
                chunk(out, row, i) = value;
            }
            ptx::fence_proxy_async(ptx::space_shared);
            named_barrier();
            if (threadIdx.x == 0) {
                arrive(&empty[turn.index]);
                const int32_t at[2] = {int32_t(tile % columns * COLS), int32_t(tile / columns * ROWS)};
                ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &output, at, out);
                ptx::cp_async_bulk_commit_group();
                ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
            }
            named_barrier();
            turn.next();
        }
    } else if (ptx::elect_sync(~0u)) {
        for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            wait(&empty[turn.index], turn.phase ^ 1);
            arrive_expect(&full[turn.index], TILE);
            const int32_t at[2] = {int32_t(tile % columns * COLS), int32_t(tile / columns * ROWS)};
            load(shared + turn.index * TILE, input, at, &full[turn.index]);
            turn.next();
        }
    }
}
