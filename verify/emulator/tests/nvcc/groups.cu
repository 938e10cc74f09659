// Cooperative groups: tiles, coalesced and labelled groups, reductions, scans, clusters.
#include "common.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
template <int N> __device__ void tile(unsigned* out, unsigned x) {
  auto t = cg::tiled_partition<N>(cg::this_thread_block());
  unsigned sum = 0, most = 0, before = 0, all = ~0u;
  for (int i = 0; i < N; i++) {
    unsigned y = t.shfl(x, i);
    sum += y; most = max(most, y); all &= y;
    if (i < t.thread_rank()) before += y;
  }
  CHECK(cg::reduce(t, x, cg::plus<unsigned>()) == sum);
  CHECK(cg::reduce(t, x, cg::greater<unsigned>()) == most);
  CHECK(cg::reduce(t, x, cg::bit_and<unsigned>()) == all);
  CHECK(cg::reduce(t, (float)(x & 255), cg::plus<float>()) == (float)cg::reduce(t, x & 255, cg::plus<unsigned>()));
  CHECK(cg::reduce(t, (long long)x, cg::less<long long>()) <= (long long)x);
  CHECK(cg::exclusive_scan(t, x) == before);
  CHECK(cg::inclusive_scan(t, x, cg::plus<unsigned>()) == before + x);
  CHECK(t.shfl_xor(t.shfl_xor(x, N / 2), N / 2) == x);
  CHECK(t.any(t.thread_rank() == 0) && !t.all(t.thread_rank() != 0));
  CHECK(t.ballot(true) == (N == 32 ? ~0u : (1u << N) - 1));
}
extern "C" __global__ void tiles(unsigned* out) {
  unsigned x = hash(GLOBAL_ID);
  tile<32>(out, x); tile<16>(out, x); tile<8>(out, x); tile<4>(out, x); tile<2>(out, x);
}
extern "C" __global__ void parts(unsigned* out) {
  unsigned x = hash(GLOBAL_ID), lane = threadIdx.x % 32;
  __shared__ unsigned odd, counts[4][4];
  if (threadIdx.x == 0) odd = 0;
  if (threadIdx.x < 16) counts[threadIdx.x / 4][threadIdx.x % 4] = 0;
  __syncthreads();
  unsigned mask = __ballot_sync(~0u, x & 1);
  if (x & 1) {
    auto g = cg::coalesced_threads();
    CHECK(g.size() == __popc(mask) && g.thread_rank() == __popc(mask & ((1u << lane) - 1)));
    unsigned s = cg::reduce(g, 1u, cg::plus<unsigned>());
    CHECK(s == g.size());
    if (g.thread_rank() == 0) atomicAdd(&odd, s);
  }
  __syncthreads();
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto l = cg::labeled_partition(warp, x % 4);
  if (l.thread_rank() == 0) counts[threadIdx.x / 32][x % 4] = l.size();
  auto b = cg::binary_partition(warp, (x >> 8) & 1);
  CHECK(b.size() == __popc(__ballot_sync(~0u, (x >> 8) & 1) ^ ((x >> 8) & 1 ? 0 : ~0u)));
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned n = 0;
    for (unsigned i = 0; i < blockDim.x; i++) n += hash(blockIdx.x * blockDim.x + i) & 1;
    CHECK(odd == n);
    n = 0;
    for (int i = 0; i < 16; i++) n += counts[i / 4][i % 4];
    CHECK(n == blockDim.x);
  }
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster(unsigned* out) {
  __shared__ unsigned mine[128];
  auto c = cg::this_cluster();
  mine[threadIdx.x] = hash(GLOBAL_ID);
  c.sync();
  unsigned* other = c.map_shared_rank(mine, c.block_rank() ^ 1);
  CHECK(other[threadIdx.x] == hash((blockIdx.x ^ 1) * blockDim.x + threadIdx.x));
  CHECK(c.num_blocks() == 2 && c.thread_rank() == c.block_rank() * 128 + threadIdx.x);
  c.sync();
  atomicAdd(&other[threadIdx.x ^ 1], 5);
  c.sync();
  CHECK(mine[threadIdx.x] == hash(GLOBAL_ID) + 5);
}
