// Asynchronous copies: pipelines, barriers, bulk copies.
#include "common.h"
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <cuda/ptx>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
struct alignas(128) Data { unsigned v[1024]; constexpr Data() : v() { for (unsigned i = 0; i < 1024; i++) v[i] = i * 2654435761u; } };
__device__ constexpr Data data;
__device__ alignas(128) unsigned result[1024];
#define input data.v
#define value(i) ((i) * 2654435761u)
extern "C" __global__ void copies(unsigned* out) {
  __shared__ alignas(128) unsigned a[2][128], b[512];
  int t = threadIdx.x;
  if (blockIdx.x) return;
  __pipeline_memcpy_async(&a[0][t], &input[t], 4); __pipeline_commit();
  __pipeline_memcpy_async(&a[1][t], &input[128 + t], 4); __pipeline_commit();
  __pipeline_wait_prior(1); __syncthreads(); CHECK(a[0][t ^ 1] == value(t ^ 1));
  __pipeline_wait_prior(0); __syncthreads(); CHECK(a[1][t ^ 1] == value(128 + (t ^ 1)));
  __syncthreads();
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, b, input + 256, sizeof(unsigned) * 512); cg::wait(block);
  CHECK(b[t * 3 % 512] == value(256 + t * 3 % 512));
  __syncthreads();
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (t == 0) init(&bar, 128);
  __syncthreads();
  cuda::memcpy_async(block, a[0], input + 512, cuda::aligned_size_t<16>(512), bar);
  bar.arrive_and_wait();
  CHECK(a[0][t ^ 5] == value(512 + (t ^ 5)));
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto pipe = cuda::make_pipeline(block, &state);
  for (int k = 0; k < 2; k++) { pipe.producer_acquire(); cuda::memcpy_async(block, a[k], input + k * 128, cuda::aligned_size_t<16>(512), pipe); pipe.producer_commit(); }
  for (int k = 0; k < 2; k++) { pipe.consumer_wait(); CHECK(a[k][t ^ 7] == value(k * 128 + (t ^ 7))); pipe.consumer_release(); }
  __syncthreads();
  b[t] = t * 5; cuda::ptx::fence_proxy_async(cuda::ptx::space_shared); __syncthreads();
  if (t == 0) { cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, result, b, 512); cuda::ptx::cp_async_bulk_commit_group(); cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>()); }
  __syncthreads();
  CHECK(((volatile unsigned*)result)[t] == t * 5);
}
