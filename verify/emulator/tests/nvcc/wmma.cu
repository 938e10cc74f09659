// wmma of every type in both layouts, against sums of whole numbers.
#include "common.h"
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using namespace nvcuda;
template <class T> __device__ float num(T x) { return (float)x; }
template <class T, class A, int M, int N, int K, class LA, class LB, class E>
__device__ void product(unsigned* out, int line, int lo, int range) {
  __shared__ alignas(32) E a[M * K], b[K * N];
  __shared__ alignas(32) A c[M * N], d[M * N];
  constexpr bool ra = std::is_same<LA, wmma::row_major>::value, rb = std::is_same<LB, wmma::row_major>::value;
  int t = threadIdx.x;
  #pragma unroll 1
  for (int i = t; i < M * K; i += 32) a[i] = E((int)(hash(i) % range) + lo);
  #pragma unroll 1
  for (int i = t; i < K * N; i += 32) b[i] = E((int)(hash(i + 999) % range) + lo);
  #pragma unroll 1
  for (int i = t; i < M * N; i += 32) c[i] = A((int)(hash(i + 77) % 5) - 2);
  __syncwarp();
  wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, A> fc;
  wmma::load_matrix_sync(fa, a, ra ? K : M);
  wmma::load_matrix_sync(fb, b, rb ? N : K);
  wmma::load_matrix_sync(fc, c, N, wmma::mem_row_major);
  for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] + fc.x[i];
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(d, fc, M, wmma::mem_col_major);
  __syncwarp();
  #pragma unroll 1
  for (int i = t; i < M * N; i += 32) {
    int m = i / N, n = i % N;
    float s = 2 * (float)c[i];
    #pragma unroll 1
    for (int k = 0; k < K; k++) s += (float)a[ra ? m * K + k : k * M + m] * (float)b[rb ? k * N + n : n * K + k];
    if ((float)d[n * M + m] != s) out[t] = line;
  }
  __syncwarp();
}
#define ALL(T, A, M, N, K, E, lo, range) \
  product<T, A, M, N, K, wmma::row_major, wmma::col_major, E>(out, __LINE__, lo, range); \
  product<T, A, M, N, K, wmma::col_major, wmma::row_major, E>(out, __LINE__, lo, range);
extern "C" __global__ void halves(unsigned* out) {
  ALL(__half, float, 16, 16, 16, __half, -3, 7)
  ALL(__half, __half, 8, 32, 16, __half, -3, 7)
}
extern "C" __global__ void brain(unsigned* out) {
  ALL(__nv_bfloat16, float, 16, 16, 16, __nv_bfloat16, -3, 7)
  ALL(__nv_bfloat16, float, 32, 8, 16, __nv_bfloat16, -3, 7)
  ALL(wmma::precision::tf32, float, 16, 16, 8, float, -3, 7)
  ALL(double, double, 8, 8, 4, double, -3, 7)
}
extern "C" __global__ void integers(unsigned* out) {
  ALL(signed char, int, 16, 16, 16, signed char, -100, 201)
  ALL(unsigned char, int, 32, 8, 16, unsigned char, 0, 256)
}
// Four bits and one bit of a number: only row by column.
extern "C" __global__ void small(unsigned* out) {
  __shared__ alignas(32) unsigned a[8 * 4], b[8 * 4];
  __shared__ alignas(32) int d[64];
  int t = threadIdx.x;
  a[t] = hash(t); b[t] = hash(t + 50);
  __syncwarp();
  {
    using namespace wmma::experimental;
    wmma::fragment<wmma::matrix_a, 8, 8, 32, precision::s4, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, precision::s4, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 32, int> fc;
    wmma::load_matrix_sync(fa, a, 32);
    wmma::load_matrix_sync(fb, b, 32);
    wmma::fill_fragment(fc, 3);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(d, fc, 8, wmma::mem_row_major);
    __syncwarp();
    #pragma unroll 1
    for (int i = t; i < 64; i += 32) {
      int s = 3;
      #pragma unroll 1
      for (int k = 0; k < 32; k++) {
        int x = (int)(a[i / 8 * 4 + k / 8] << (28 - k % 8 * 4)) >> 28, y = (int)(b[i % 8 * 4 + k / 8] << (28 - k % 8 * 4)) >> 28;
        s += x * y;
      }
      CHECK(d[i] == s);
    }
  }
  __syncwarp();
  {
    using namespace wmma::experimental;
    wmma::fragment<wmma::matrix_a, 8, 8, 128, precision::b1, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, precision::b1, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> fc;
    wmma::load_matrix_sync(fa, a, 128);
    wmma::load_matrix_sync(fb, b, 128);
    wmma::fill_fragment(fc, 5);
    wmma::bmma_sync(fc, fa, fb, fc, bmmaBitOpAND);
    wmma::store_matrix_sync(d, fc, 8, wmma::mem_row_major);
    __syncwarp();
    #pragma unroll 1
    for (int i = t; i < 64; i += 32) {
      int s = 5;
      for (int k = 0; k < 4; k++) s += __popc(a[i / 8 * 4 + k] & b[i % 8 * 4 + k]);
      CHECK(d[i] == s);
    }
  }
}
