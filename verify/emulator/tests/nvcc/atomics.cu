// Atomics of every type and scope.
#include "common.h"
#include <cuda/atomic>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void types(unsigned* out) {
  __shared__ int i[8]; __shared__ unsigned u[8]; __shared__ unsigned long long l[8]; __shared__ long long ll[2];
  __shared__ float f; __shared__ double d; __shared__ __half2 h2; __shared__ __half h; __shared__ __nv_bfloat162 b2; __shared__ __nv_bfloat16 b;
  __shared__ unsigned short s;
  int t = threadIdx.x, n = blockDim.x;
  if (t < 8) { i[t] = u[t] = l[t] = 0; }
  __syncthreads();
  if (t == 0) { f = d = 0; h2 = __float2half2_rn(0.f); h = 0.f; b2 = __float2bfloat162_rn(0.f); b = 0.f; s = 0; i[3] = 1 << 30; u[5] = ~0u; l[5] = ~0ull; ll[0] = 1ll << 60; ll[1] = 0; }
  __syncthreads();
  atomicAdd(&i[0], t); atomicSub(&i[1], t); atomicMax(&i[2], t); atomicMin(&i[3], -t); atomicXor(&i[4], t); atomicOr(&i[5], t); atomicExch(&i[6], 9);
  atomicAdd(&u[0], t); atomicInc(&u[1], 50); atomicDec(&u[2], 50); atomicMax(&u[3], t); atomicMin(&u[4], t); atomicAnd(&u[5], ~(1u << t % 32));
  atomicAdd(&l[0], 1ull << 33); atomicMax(&l[1], (unsigned long long)t << 32); atomicXor(&l[2], (unsigned long long)t << 30); atomicAnd(&l[5], ~(1ull << t % 64));
  atomicMin(&ll[0], -(long long)t); atomicMax(&ll[1], (long long)t << 40);
  atomicAdd(&f, (float)t); atomicAdd(&d, (double)t / 2);
  if (t < 32) { atomicAdd(&h2, __floats2half2_rn(1.f, (float)t)); atomicAdd(&h, __float2half(1.f)); atomicAdd(&b2, __floats2bfloat162_rn(1.f, 2.f)); atomicAdd(&b, __float2bfloat16(1.f)); }
  unsigned short seen = *(volatile unsigned short*)&s, was;
  do { was = seen; seen = atomicCAS(&s, was, (unsigned short)(was + 3)); } while (seen != was);
  __syncthreads();
  int sum = n * (n - 1) / 2;
  CHECK(i[0] == sum && i[1] == -sum && i[2] == n - 1 && i[3] == 1 - n && i[4] == 0 && i[5] == 127 && i[6] == 9);
  CHECK(u[0] == sum && u[1] == n % 51 && u[3] == n - 1 && u[4] == 0 && u[5] == 0);
  CHECK(l[0] == (unsigned long long)n << 33 && l[1] == (unsigned long long)(n - 1) << 32 && l[2] == 0 && l[5] == 0);
  CHECK(ll[0] == 1 - n && ll[1] == (long long)(n - 1) << 40);
  CHECK(f == sum && d == sum / 2.);
  CHECK(__low2float(h2) == 32 && __high2float(h2) == 496 && __half2float(h) == 32 && __low2float(b2) == 32 && __high2float(b2) == 64 && __bfloat162float(b) == 32);
  CHECK(s == 3 * n);
}
__device__ unsigned counter, ticket, own[64];
__device__ float total;
__device__ double wide;
__device__ alignas(16) unsigned long long pair[2];
extern "C" __global__ void scopes(unsigned* out) {
  atomicAdd_block(&own[blockIdx.x], 1); atomicAdd(&counter, 1); atomicAdd_system(&counter, 1);
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> c(counter);
  c.fetch_add(1, cuda::memory_order_relaxed);
  atomicAdd(&total, 0.5f); atomicAdd(&wide, 0.25);
  cuda::atomic_ref<float, cuda::thread_scope_device> ft(total);
  ft.fetch_add(0.5f, cuda::memory_order_relaxed);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> t(ticket);
    t.fetch_add(1, cuda::memory_order_release);
    while (t.load(cuda::memory_order_acquire) < gridDim.x) __nanosleep(20);
    unsigned n = gridDim.x * blockDim.x;
    CHECK(c.load(cuda::memory_order_relaxed) == 3 * n);
    CHECK(ft.load() == n && atomicAdd(&wide, 0.0) == n / 4.);
  }
}
struct alignas(16) Two { unsigned long long a, b; };
extern "C" __global__ void sixteen(unsigned* out) {
  Two* p = (Two*)pair;
  Two old{0, 0}, got;
  for (;; old = got) {
    Two add{old.a + 1, old.b + 2};
    got = atomicCAS(p, old, add);
    if (got.a == old.a && got.b == old.b) break;
  }
  CHECK(got.b == 2 * got.a && got.a < gridDim.x * blockDim.x);
}
