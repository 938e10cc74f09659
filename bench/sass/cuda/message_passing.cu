// Twin of `examples/message-passing`.
#include "common.cuh"

__device__ uint32_t message(uint32_t seed, uint32_t sender, uint64_t index) {
    uint32_t word = (uint32_t(index) * 2 + sender) ^ seed;
    word = (word ^ word >> 16) * 0x85ebca6bu;
    word = (word ^ word >> 13) * 0xc2b2ae35u;
    return word ^ word >> 16;
}

__device__ void fill(Guarded box, uint32_t seed, uint32_t sender) {
    for (uint64_t i = threadIdx.x; i < box.len; i += 128) box.data[i] = message(seed, sender, i);
}

__device__ void copy(Guarded box, Slice<uint32_t> output) {
    const uint64_t stride = uint64_t(gridDim.x) * 128;
    for (uint64_t i = uint64_t(blockIdx.x) * 128 + threadIdx.x; i < output.len; i += stride)
        output.data[i] = box.data[i];
}

extern "C" __global__ void __block_size__((128, 1, 1))
    exchange(Guarded ping, Guarded pong, Slice<uint32_t> output, uint32_t seed) {
    Word ping_word(ping.words[0]), pong_word(pong.words[0]);
    if (blockIdx.x == 0) {
        fill(ping, seed, 0);
        __syncthreads();
        if (threadIdx.x == 0) ping_word.store(1, release);
        while (pong_word.load(relaxed) == 0) {
        }
        ptx::fence(ptx::sem_acquire, ptx::scope_gpu);
        copy(pong, output);
    } else if (blockIdx.x == 1) {
        fill(pong, seed, 1);
        __syncthreads();
        ptx::fence(ptx::sem_release, ptx::scope_gpu);
        if (threadIdx.x == 0) pong_word.store(1, relaxed);
        while (ping_word.load(acquire) == 0) {
        }
        copy(ping, output);
    }
}
