// Twin of `examples/gemm-hopper`.
#include "tile.cuh"

constexpr uint32_t TILE_M = 64, TILE_N = 128, TILE_K = 64, STAGES = 6;
constexpr uint32_t TILE_A = TILE_M * TILE_K * 2, TILE_B = TILE_N * TILE_K * 2, STAGE = TILE_A + TILE_B;
constexpr uint32_t PANEL = TILE_M * PANEL_ROW, PANELS = TILE_N * 4 / PANEL_ROW;

// Matrix descriptor of a K-major tile in the 128-byte swizzle: 1024 bytes between groups of eight rows, swizzle mode 1.
__device__ uint64_t matrix(const char* tile) {
    return uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62 | (shared_address(tile) & 0x3ffff) >> 4;
}

__device__ void warpgroup_barrier() { asm volatile("bar.sync 1, 128;" ::: "memory"); }

// A thread's part of a product of 64 × 128. The numbers go through every instruction that the tensor cores' work has to
// be before or behind.
struct Sums {
    float of[64];
};

#define EIGHT(s, n) \
    "+f"(s.of[n]), "+f"(s.of[n + 1]), "+f"(s.of[n + 2]), "+f"(s.of[n + 3]), "+f"(s.of[n + 4]), "+f"(s.of[n + 5]), \
        "+f"(s.of[n + 6]), "+f"(s.of[n + 7])
#define ALL(s) \
    EIGHT(s, 0), EIGHT(s, 8), EIGHT(s, 16), EIGHT(s, 24), EIGHT(s, 32), EIGHT(s, 40), EIGHT(s, 48), EIGHT(s, 56)

__device__ void wgmma_fence(Sums& sums) { asm volatile("wgmma.fence.sync.aligned;" : ALL(sums)::"memory"); }
__device__ void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
__device__ void wgmma_wait_group(Sums& sums) {
    asm volatile("wgmma.wait_group.sync.aligned %64;" : ALL(sums) : "n"(N) : "memory");
}

// sums = a · bᵀ, or added to it.
__device__ void wgmma_mma_async(Sums& sums, uint64_t a, uint64_t b, bool add) {
    asm volatile(
        "{\n\t"
        ".reg .pred add;\n\t"
        "setp.ne.b32 add, %66, 0;\n\t"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, add, 1, 1, 0, 0;\n\t"
        "}"
        : ALL(sums)
        : "l"(a), "l"(b), "r"(uint32_t(add))
        : "memory");
}

// The products of a stage, on top of what there is.
__device__ void multiply(Sums& sums, const char* stage, bool add) {
    const uint64_t a = matrix(stage), b = matrix(stage + TILE_A);
    // 16 elements of K are 32 bytes.
    for (uint32_t part = 0; part < TILE_K / 16; part++)
        wgmma_mma_async(sums, a + 2 * part, b + 2 * part, add || part > 0);
    wgmma_commit_group();
}

extern "C" __global__ void __block_size__((160, 1, 1))
    gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
         const __grid_constant__ CUtensorMap c, uint32_t rows, uint32_t columns, uint32_t steps) {
    extern __shared__ __align__(1024) char shared[];
    char* const out = shared + STAGES * STAGE;
    uint64_t* const full = reinterpret_cast<uint64_t*>(out + PANELS * PANEL);
    uint64_t* const empty = full + STAGES;
    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < STAGES; i++) {
            ptx::mbarrier_init(&full[i], 1);
            ptx::mbarrier_init(&empty[i], 4);
        }
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    const uint32_t tiles = rows * columns;
    Turn<STAGES> turn;
    if (threadIdx.x < 128) {
        const uint32_t row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
        for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            Sums sums;
            wait(&full[turn.index], turn.phase);
            wgmma_fence(sums);
            multiply(sums, shared + turn.index * STAGE, false);
            uint32_t before = turn.index;
            turn.next();
#pragma unroll 1
            for (uint32_t step = 1; step < steps; step++) {
                wait(&full[turn.index], turn.phase);
                multiply(sums, shared + turn.index * STAGE, true);
                wgmma_wait_group<1>(sums);
                if (threadIdx.x % 32 == 0) arrive(&empty[before]);
                before = turn.index;
                turn.next();
            }
            wgmma_wait_group<0>(sums);
            if (threadIdx.x % 32 == 0) arrive(&empty[before]);
            // Two neighbours in this row, two in the row eight below, and so on to the right.
            for (uint32_t i = 0; i < 64; i += 2) {
                const uint32_t r = row + i / 2 % 2 * 8, column = i / 4 * 8 + threadIdx.x % 4 * 2;
                char* const panel = out + column / 32 * PANEL;
                *reinterpret_cast<float2*>(swizzled(panel, r, column % 32 * 4)) = {sums.of[i], sums.of[i + 1]};
            }
            ptx::fence_proxy_async(ptx::space_shared);
            warpgroup_barrier();
            if (threadIdx.x == 0) {
                for (uint32_t i = 0; i < PANELS; i++) {
                    const int32_t at[2] = {int32_t(tile % columns * TILE_N + 32 * i), int32_t(tile / columns * TILE_M)};
                    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &c, at, out + i * PANEL);
                }
                ptx::cp_async_bulk_commit_group();
                ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
            }
            warpgroup_barrier();
        }
    } else if (ptx::elect_sync(~0u)) {
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
}
