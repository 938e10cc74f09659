// Algorithms of CUB on warps and blocks.
#include "common.h"
#include <cub/cub.cuh>
extern "C" __global__ void __launch_bounds__(128) blocks(unsigned* out) {
  typedef cub::BlockReduce<int, 128> Reduce; typedef cub::BlockScan<int, 128> Scan; typedef cub::BlockRadixSort<unsigned, 128, 4, unsigned> Sort;
  typedef cub::WarpReduce<float> WarpReduce; typedef cub::WarpScan<int> WarpScan; typedef cub::BlockHistogram<unsigned char, 128, 4, 16> Histogram;
  __shared__ union { Reduce::TempStorage r; Scan::TempStorage s; Sort::TempStorage o; WarpReduce::TempStorage w[4]; WarpScan::TempStorage ws[4]; Histogram::TempStorage h; } temp;
  __shared__ unsigned all[512], count[16]; __shared__ int total;
  int t = threadIdx.x, x = hash(GLOBAL_ID) % 1000, sum = 0, before = 0;
  for (int i = 0; i < 128; i++) { int y = hash(blockIdx.x * 128 + i) % 1000; sum += y; if (i < t) before += y; }
  int r = Reduce(temp.r).Sum(x); if (t == 0) { total = r; CHECK(r == sum); }
  __syncthreads();
  int m = Reduce(temp.r).Reduce(x, [](int a, int b) { return a > b ? a : b; }); if (t == 0) CHECK(m >= x);
  __syncthreads();
  int scanned, aggregate; Scan(temp.s).ExclusiveSum(x, scanned, aggregate); CHECK(scanned == before && aggregate == sum && total == sum);
  __syncthreads();
  float f = WarpReduce(temp.w[t / 32]).Sum((float)x); if (t % 32 == 0) CHECK(f <= sum);
  __syncthreads();
  int ws; WarpScan(temp.ws[t / 32]).InclusiveSum(1, ws); CHECK(ws == t % 32 + 1);
  __syncthreads();
  unsigned keys[4], values[4]; for (int i = 0; i < 4; i++) { keys[i] = hash(t * 4 + i + blockIdx.x); values[i] = t * 4 + i; }
  Sort(temp.o).Sort(keys, values);
  for (int i = 0; i < 4; i++) { all[t * 4 + i] = keys[i]; CHECK(hash(values[i] + blockIdx.x) == keys[i]); }
  __syncthreads();
  for (int i = 0; i < 4; i++) if (t * 4 + i > 0) CHECK(all[t * 4 + i - 1] <= all[t * 4 + i]);
  unsigned char bins[4]; for (int i = 0; i < 4; i++) bins[i] = hash(t * 4 + i) % 16;
  Histogram(temp.h).Histogram(bins, count);
  __syncthreads();
  if (t < 16) { unsigned n = 0; for (int i = 0; i < 512; i++) n += hash(i) % 16 == t; CHECK(count[t] == n); }
}
