// Floats of 8, 6 and 4 bits.
#include "common.h"
#include <cuda_fp8.h>
#include <cuda_fp6.h>
#include <cuda_fp4.h>
// The nearest number of so many bits, ties to even, saturating; by search over all codes.
__device__ __noinline__ unsigned nearest(float x, int exponent, int mantissa, int last) {
  unsigned best = 0; float distance = 1e30f;
  #pragma unroll 1
  for (int c = 0; c <= last; c++) {
    int e = c >> mantissa, m = c & ((1 << mantissa) - 1), bias = (1 << (exponent - 1)) - 1;
    float v = e ? ldexpf(1 + ldexpf(m, -mantissa), e - bias) : ldexpf(m, 1 - bias - mantissa), d = fabsf(fabsf(x) - v);
    if (d < distance || (d == distance && !(c & 1))) { best = c; distance = d; }
  }
  return best | (signbit(x) ? 1u << (exponent + mantissa) : 0);
}
extern "C" __global__ void narrow(unsigned* out) {
  #pragma unroll 1
  for (unsigned k = 0; k < 4; k++) {
    unsigned h = hash(GLOBAL_ID * 4 + k);
    float x = ldexpf((int)(h % 4096) - 2048, (int)(h >> 12) % 14 - 18), y = ldexpf((int)(h >> 16) - 32768, -20);
    CHECK(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3) == nearest(x, 4, 3, 126));
    CHECK(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2) == nearest(x, 5, 2, 123));
    CHECK(__nv_cvt_float2_to_fp8x2(make_float2(x, y), __NV_SATFINITE, __NV_E4M3) == (nearest(x, 4, 3, 126) | nearest(y, 4, 3, 126) << 8));
    __nv_fp8_e4m3 f(x); CHECK(f.__x == nearest(x, 4, 3, 126) && nearest((float)f, 4, 3, 126) == f.__x);
    __nv_fp8x4_e5m2 four(make_float4(x, y, -x, 1)); float4 back = (float4)four;
    CHECK(nearest(back.y, 5, 2, 123) == nearest(y, 5, 2, 123) && back.w == 1 && back.z == -back.x);
    __half2_raw two = __nv_cvt_fp8x2_to_halfraw2(f.__x | 0x3800, __NV_E4M3);
    CHECK(__half2float(__half(__half_raw{two.x})) == (float)f && two.y == 0x3c00);
    CHECK(__nv_cvt_float_to_fp6(x, __NV_E2M3, cudaRoundNearest) == nearest(x, 2, 3, 31));
    CHECK(__nv_cvt_float_to_fp6(x, __NV_E3M2, cudaRoundNearest) == nearest(x, 3, 2, 31));
    CHECK(__nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest) == nearest(x, 2, 1, 7));
    CHECK(__nv_cvt_float2_to_fp4x2(make_float2(x, y), __NV_E2M1, cudaRoundNearest) == (nearest(x, 2, 1, 7) | nearest(y, 2, 1, 7) << 4));
    __nv_fp6_e3m2 six(x); CHECK(nearest((float)six, 3, 2, 31) == six.__x);
    __nv_fp8_e8m0 power; power.__x = 100 + h % 50; CHECK((float)power == ldexpf(1, (int)(h % 50) - 27));
    CHECK(__nv_cvt_float_to_e8m0(ldexpf(1.4f, (int)(h % 40) - 20), __NV_SATFINITE, cudaRoundZero) == 107 + h % 40);
    __nv_fp8_e4m3 sum = __nv_fp8_e4m3((float)f + 1.f); (void)sum;
  }
}
