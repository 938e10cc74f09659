// What the twins with rings of tiles have in common.
#pragma once
#include "common.cuh"
#include <cuda.h>

// Bytes of a row of a panel: as much as the 128-byte swizzle permutes.
constexpr uint32_t PANEL_ROW = 128;

// Where a byte of a row lies in a panel in the 128-byte swizzle, which permutes chunks of 16 bytes.
__device__ inline char* swizzled(char* panel, uint32_t row, uint32_t byte) {
    return panel + row * PANEL_ROW + (byte ^ row % 8 << 4);
}

__device__ inline uint32_t shared_address(const void* pointer) { return uint32_t(__cvta_generic_to_shared(pointer)); }

// Whose turn it is in a ring, and the parity of its phase.
template <uint32_t N>
struct Turn {
    uint32_t index = 0, phase = 0;
    __device__ void next() {
        if (++index == N) index = 0, phase ^= 1;
    }
};

__device__ inline void arrive(uint64_t* barrier) {
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier);
}

// Relaxed: whoever waits relies on nothing that this thread has done but on the bytes, which come with a release of
// their own.
__device__ inline void arrive_expect(uint64_t* barrier, uint32_t bytes) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, barrier, bytes);
}

__device__ inline void load(char* to, const CUtensorMap& from, const int32_t (&at)[2], uint64_t* barrier) {
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, to, &from, at, barrier);
}
