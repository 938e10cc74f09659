// What the twins have in common: slices as the Rust kernels take them, and words by which threads synchronise.
#pragma once
#include <cuda/atomic>
#include <cuda/ptx>
#include <cstdint>

namespace ptx = cuda::ptx;
namespace std_ = cuda::std;

template <class T>
struct Slice {
    T* data;
    uint64_t len;
};

// A lock, a flag or a counter, shared by the whole GPU.
using Word = cuda::atomic_ref<uint32_t, cuda::thread_scope_device>;

// The words of a protocol and the array that they guard.
struct Guarded {
    uint32_t* words;
    uint64_t objects;
    uint32_t* data;
    uint64_t len;
};

constexpr auto relaxed = std_::memory_order_relaxed;
constexpr auto acquire = std_::memory_order_acquire;
constexpr auto release = std_::memory_order_release;
constexpr auto acq_rel = std_::memory_order_acq_rel;

// Waits until the phase of that parity has completed.
__device__ inline void wait(uint64_t* barrier, uint32_t parity) {
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cta, barrier, parity)) {
    }
}

// Stops the kernel unless it holds.
__device__ inline void check(bool holds) {
    if (!holds) __trap();
}
