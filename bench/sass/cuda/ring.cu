// Twin of `examples/ring`.
#include "common.cuh"

constexpr uint32_t STAGES = 3, ROWS = 4, CHUNK = ROWS * 32;

__device__ uint64_t position(uint32_t block, uint32_t blocks, uint64_t chunk, uint32_t item) {
    return ((chunk * ROWS + item / 32) * blocks + block) * 32 + item % 32;
}

extern "C" __global__ void __block_size__((64, 1, 1))
    reverse(Slice<const uint32_t> input, Slice<uint32_t> output, uint32_t chunks) {
    __shared__ uint32_t stages[STAGES][CHUNK];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    const uint32_t lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < STAGES; i++) {
            ptx::mbarrier_init(&full[i], 1);
            ptx::mbarrier_init(&empty[i], 1);
        }
    }
    __syncthreads();
    uint32_t index = 0, phase = 0;
    if (threadIdx.x < 32) {
        for (uint64_t chunk = 0; chunk < chunks; chunk++) {
            wait(&empty[index], phase ^ 1);
            for (uint32_t item = lane; item < CHUNK; item += 32) {
                const uint64_t at = position(blockIdx.x, gridDim.x, chunk, item);
                stages[index][item] = at < input.len ? input.data[at] : 0;
            }
            __syncwarp();
            if (lane == 0) ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[index]);
            if (++index == STAGES) index = 0, phase ^= 1;
        }
    } else {
        for (uint64_t chunk = 0; chunk < chunks; chunk++) {
            wait(&full[index], phase);
            for (uint32_t row = 0; row < ROWS; row++) {
                const uint32_t item = row * 32 + lane;
                const uint64_t at = position(blockIdx.x, gridDim.x, chunk, item);
                if (at < output.len) output.data[at] = stages[index][CHUNK - 1 - item];
            }
            __syncwarp();
            if (lane == 0) ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &empty[index]);
            if (++index == STAGES) index = 0, phase ^= 1;
        }
    }
}
