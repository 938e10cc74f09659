// Halves and brain floats, singly and in pairs, against single precision rounded once.
#include "common.h"
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define SAME(x, y) CHECK(__half_as_ushort(x) == __half_as_ushort(y))
#define BSAME(x, y) CHECK(__bfloat16_as_ushort(x) == __bfloat16_as_ushort(y))
extern "C" __global__ void halves(unsigned* out) {
  #pragma unroll 1
  for (unsigned i = 0; i < 8; i++) {
    unsigned h = hash(GLOBAL_ID * 8 + i);
    float x = (int)(h % 2000) / 64.f - 15, y = (int)(h / 2000 % 2000) / 128.f - 7, z = (int)(h >> 24) / 32.f;
    __half a = __float2half(x), b = __float2half(y), c = __float2half(z);
    float fa = __half2float(a), fb = __half2float(b), fc = __half2float(c);
    SAME(__hadd(a, b), __float2half(fa + fb));
    SAME(__hsub(a, b), __float2half(fa - fb));
    SAME(__hmul(a, b), __float2half(fa * fb));
    SAME(__hfma(a, b, c), __float2half(__fmaf_rn(fa, fb, fc)));
    SAME(__hmax(a, b), fa > fb ? a : b);
    SAME(__hmin(a, b), fa > fb ? b : a);
    SAME(__hneg(a), __float2half(-fa));
    SAME(__habs(a), __float2half(fabsf(fa)));
    CHECK(__hlt(a, b) == (fa < fb) && __heq(a, a) && __hgeu(a, b) == (fa >= fb));
    SAME(__hadd_sat(a, b), __float2half(__saturatef(fa + fb)));
    SAME(__hfma_relu(a, b, c), __float2half(fmaxf(__fmaf_rn(fa, fb, fc), 0)));
    SAME(hfloor(a), __float2half(floorf(fa)));
    SAME(htrunc(a), __float2half(truncf(fa)));
    CHECK(__half2int_rn(a) == __float2int_rn(fa) && __half2short_rz(a) == (short)fa);
    SAME(__int2half_rn((int)h % 60000), __float2half((float)((int)h % 60000)));
    CHECK(fabsf(__half2float(hsqrt(c)) - sqrtf(fc)) <= 2e-3f * (1 + sqrtf(fc)));
    CHECK(fabsf(__half2float(__hdiv(a, __float2half(3.f))) - fa / 3) <= 5e-3f);
    CHECK(fabsf(__half2float(hexp2(b)) - exp2f(fb)) <= 2e-3f * exp2f(fb) + 1e-6f);
    __half2 p = __halves2half2(a, b), q = __halves2half2(c, a), r = __hfma2(p, q, p);
    SAME(__low2half(r), __float2half(__fmaf_rn(fa, fc, fa)));
    SAME(__high2half(r), __float2half(__fmaf_rn(fb, fa, fb)));
    __half2 s = __float22half2_rn(make_float2(x, y));
    SAME(s.x, a); SAME(s.y, b);
    CHECK(__hbgt2(p, p) == false && __hbeq2(p, p));
    SAME(__low2half(__hmax2(p, q)), fa > fc ? a : c);
    SAME(__low2half(__lowhigh2highlow(p)), b);
    unsigned mask = __hlt2_mask(p, q);
    CHECK((mask & 0xffff) == (fa < fc ? 0xffffu : 0) && mask >> 16 == (fb < fa ? 0xffffu : 0));
  }
}
extern "C" __global__ void brain(unsigned* out) {
  #pragma unroll 1
  for (unsigned i = 0; i < 8; i++) {
    unsigned h = hash(GLOBAL_ID * 8 + i);
    float x = (int)(h % 200) / 64.f - 1.5f, y = (int)(h / 2000 % 200) / 128.f - 0.7f, z = (int)(h >> 24) / 32.f;
    __nv_bfloat16 a = __float2bfloat16(x), b = __float2bfloat16(y), c = __float2bfloat16(z);
    float fa = __bfloat162float(a), fb = __bfloat162float(b), fc = __bfloat162float(c);
    BSAME(__hadd(a, b), __float2bfloat16(fa + fb));
    BSAME(__hsub(a, b), __float2bfloat16(fa - fb));
    BSAME(__hmul(a, b), __float2bfloat16(fa * fb));
    // Three eight-bit factors fit into a double.
    BSAME(__hfma(a, b, c), __double2bfloat16((double)fa * fb + fc));
    BSAME(__hmax(a, b), fa > fb ? a : b);
    CHECK(__hlt(a, b) == (fa < fb));
    CHECK(__bfloat162int_rz(c) == (int)fc);
    CHECK(fabsf(__bfloat162float(__int2bfloat16_rn((int)h)) - (float)(int)h) <= fabsf((float)(int)h) / 256);
    __nv_bfloat162 p = __halves2bfloat162(a, b), q = __halves2bfloat162(c, a), r = __hmul2(p, q);
    BSAME(__low2bfloat16(r), __float2bfloat16(fa * fc));
    BSAME(__high2bfloat16(r), __float2bfloat16(fb * fa));
    __nv_bfloat162 s = __float22bfloat162_rn(make_float2(x, y));
    BSAME(s.x, a); BSAME(s.y, b);
    __nv_bfloat16 u = __float2bfloat16_rz(x);
    CHECK(__bfloat16_as_ushort(u) == __float_as_uint(x) >> 16);
  }
}
