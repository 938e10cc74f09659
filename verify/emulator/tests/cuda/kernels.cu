// Ordinary kernels, to see that the emulator runs what nvcc makes of them. kernels.ptx:
// nvcc -arch=sm_90 -ptx -std=c++17 -o kernels.ptx kernels.cu
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

// Block-wide sum with shuffles and shared memory, then an atomic.
extern "C" __global__ void sum(const float* x, float* out, int n) {
  __shared__ float part[32];
  float s = 0.f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
  for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.f;
    for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
    if (threadIdx.x == 0) atomicAdd(out, s);
  }
}
// Tiled matrix product.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[16][16], tb[16][17];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
  float s = 0;
  for (int k = 0; k < n; k += 16) {
    ta[y][x] = a[row * n + k + x]; tb[y][x] = b[(k + y) * n + col];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 16; i++) s += ta[y][i] * tb[i][x];
    __syncthreads();
  }
  c[row * n + col] = s;
}
// Histogram with shared atomics, match and vote.
extern "C" __global__ void histogram(const unsigned char* x, unsigned* out, int n) {
  __shared__ unsigned h[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) h[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned m = __match_any_sync(__activemask(), x[i]);
    if (__ffs(m) - 1 == (threadIdx.x & 31)) atomicAdd(&h[x[i]], __popc(m));
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) if (h[i]) atomicAdd(&out[i], h[i]);
}
// Recursion, local arrays, indirect calls, 64- and 128-bit arithmetic, division.
__device__ __noinline__ unsigned long long gcd(unsigned long long a, unsigned long long b) { return b ? gcd(b, a % b) : a; }
__device__ __noinline__ int triple(int x) { return 3 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
typedef int (*fn)(int);
__device__ fn table[2] = {triple, square};
extern "C" __global__ void calls(const unsigned long long* a, const unsigned long long* b, unsigned long long* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int local[16];
  for (int k = 0; k < 16; k++) local[(k * 7 + i) & 15] = k;
  unsigned __int128 p = (unsigned __int128)a[i] * b[i];
  long long q = (long long)a[i] / ((long long)(b[i] | 1));
  out[4 * i] = gcd(a[i], b[i]);
  out[4 * i + 1] = (unsigned long long)(p >> 64) ^ (unsigned long long)p;
  out[4 * i + 2] = q;
  out[4 * i + 3] = table[i & 1](i) + local[i & 15];
}
// Half, bfloat16 and fp8.
extern "C" __global__ void narrow(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 h = __floats2half2_rn(x[i], x[i] * 0.5f);
  h = __hfma2(h, h, __float2half2_rn(1.0f));
  __nv_bfloat162 b = __floats2bfloat162_rn(x[i], -x[i]);
  b = __hadd2(b, __float2bfloat162_rn(2.0f));
  __nv_fp8_e4m3 f(x[i]);
  __nv_fp8_e5m2 g(x[i]);
  out[4 * i] = __low2float(h) + __high2float(h);
  out[4 * i + 1] = __bfloat162float(__hmax(b.x, b.y));
  out[4 * i + 2] = float(f) + float(g);
  out[4 * i + 3] = __half2float(hexp2(__float2half(floorf(fminf(fmaxf(x[i], -8.f), 8.f)))));
}
// Integer intrinsics.
extern "C" __global__ void bits(const unsigned* x, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = x[i];
  out[8 * i] = __brev(v) ^ __clz(v) ^ __popc(v) ^ __ffs(v);
  out[8 * i + 1] = __byte_perm(v, ~v, 0x3175) + __funnelshift_l(v, i, 7);
  out[8 * i + 2] = __dp4a((int)v, (int)~v, i);
  out[8 * i + 3] = __vadd4(v, 0x01020304) ^ __vmaxu4(v, 0x40404040);
  out[8 * i + 4] = __umulhi(v, 0x9E3779B9) + __mul24((int)v, 77) + __sad((int)v, i, 5u);
  out[8 * i + 5] = __float_as_uint(__int2float_rz((int)v)) + __float2int_rd(v * 1e-3f);
  out[8 * i + 6] = v / (unsigned)(i + 1) + (int)v % (i + 3);
  out[8 * i + 7] = (v > 5 && (v & 3) == 1) ? __vabsdiffu4(v, 0x55aa55aa) : (unsigned)(unsigned char)v;
}
// Tensor cores: mma.sync and ldmatrix.
extern "C" __global__ void tensor(const __half* a, const __half* b, float* c) {
  __shared__ __half sa[16 * 16];
  for (int i = threadIdx.x; i < 256; i += 32) sa[i] = a[i];
  __syncwarp();
  unsigned r[4], q[2]; float d[4] = {0, 0, 0, 0};
  unsigned at = __cvta_generic_to_shared(sa + (threadIdx.x % 16) * 16 + threadIdx.x / 16 * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
  const unsigned* bp = (const unsigned*)(b + (threadIdx.x / 4) * 16 + (threadIdx.x % 4) * 2);
  q[0] = bp[0]; q[1] = bp[4];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(q[0]), "r"(q[1]));
  int row = threadIdx.x / 4, col = threadIdx.x % 4 * 2;
  c[row * 8 + col] = d[0]; c[row * 8 + col + 1] = d[1]; c[(row + 8) * 8 + col] = d[2]; c[(row + 8) * 8 + col + 1] = d[3];
}
// Cooperative groups, cp.async, double precision.
extern "C" __global__ void mixed(const float* x, double* out, int n) {
  __shared__ __align__(16) float tile[256];
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  unsigned to = __cvta_generic_to_shared(tile + threadIdx.x);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(to), "l"(x + blockIdx.x * 256 + threadIdx.x), "r"(threadIdx.x % 5 ? 4 : 0));
  asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
  block.sync();
  float v = tile[255 - threadIdx.x];
  float m = cg::reduce(warp, v, cg::greater<float>());
  int all = __reduce_add_sync(~0u, (int)v);
  double s = sqrt((double)fabsf(v)) + __ddiv_rz((double)v, 3.0);
  out[blockIdx.x * 256 + threadIdx.x] = s + m + all;
}
