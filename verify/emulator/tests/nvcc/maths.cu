// Mathematical functions by identities and known values; division, square roots and directed rounding exactly.
#include "common.h"
#define NEAR(x, y, e) CHECK(fabs((double)(x) - (double)(y)) <= (e) * (1 + fabs((double)(y))))
extern "C" __global__ void single(unsigned* out) {
  unsigned h = hash(GLOBAL_ID);
  float x = (h % 10000) / 700.f + 0.01f, y = (h / 10000 % 1000) / 300.f + 0.1f;
  NEAR(sinf(x) * sinf(x) + cosf(x) * cosf(x), 1, 1e-6);
  NEAR(sinf(1e6f + x), sin((double)(1e6f + x)), 1e-6);
  NEAR(expf(logf(x)), x, 1e-5); NEAR(exp2f(log2f(x)), x, 1e-5); NEAR(log10f(x) * 2.302585093f, logf(x), 1e-5);
  NEAR(powf(x, y), exp((double)y * log((double)x)), 1e-4);
  NEAR(cbrtf(x) * cbrtf(x) * cbrtf(x), x, 1e-5);
  NEAR(sqrtf(x) * sqrtf(x), x, 1e-6); NEAR(rsqrtf(x) * sqrtf(x), 1, 1e-6); NEAR(hypotf(x, y), sqrtf(x * x + y * y), 1e-5);
  NEAR(atan2f(sinf(y / 2), cosf(y / 2)), y / 2, 1e-5); NEAR(asinf(sinf(y / 3)), y / 3, 1e-4); NEAR(acosf(cosf(y / 2)), y / 2, 1e-3);
  NEAR(tanhf(y), (expf(2 * y) - 1) / (expf(2 * y) + 1), 1e-5); NEAR(coshf(y) - sinhf(y), expf(-y), 1e-4);
  NEAR(erff(y) + erfcf(y), 1, 1e-6); NEAR(erff(1), 0.8427007929, 1e-6);
  NEAR(__sinf(y), sinf(y), 1e-4); NEAR(__expf(y), expf(y), 1e-4); NEAR(__fdividef(x, y), x / y, 1e-5); NEAR(__powf(x, y), powf(x, y), 1e-3);
  float q = fmodf(x * 100, y), n = rintf((x * 100 - q) / y);
  NEAR(q + n * y, x * 100, 1e-5); CHECK(q >= 0 && q < y);
  int e; float m = frexpf(x, &e); CHECK(m >= 0.5f && m < 1 && ldexpf(m, e) == x);
  float whole; float part = modff(x, &whole); CHECK(whole + part == x && whole == truncf(x));
  CHECK(floorf(-x) == -ceilf(x) && roundf(2.5f) == 3 && rintf(2.5f) == 2 && copysignf(x, -1) == -x && fdimf(1, x) == fmaxf(1 - x, 0));
  CHECK(isnan(nanf("")) && isinf(1 / (x - x)) && !isfinite(logf(0)) && signbit(-x) && nextafterf(1, 2) > 1);
  CHECK(__fdiv_rn(x, y) == (float)((double)x / y) && __fdiv_rd(x, y) <= __fdiv_ru(x, y) && __fsqrt_rd(x) <= __fsqrt_ru(x));
  CHECK((double)__fdiv_rd(x, y) * y <= x && (double)__fdiv_ru(x, y) * y >= x);
  CHECK((double)__fadd_rd(x, 1e-6f * y) <= (double)x + 1e-6f * y && (double)__fadd_ru(x, 1e-6f * y) >= (double)x + 1e-6f * y);
  CHECK((double)__fmul_rz(x, y) <= (double)x * y && (double)__fmul_ru(x, y) >= (double)x * y && __fmaf_rn(x, y, -x * y) == (float)((double)x * y - x * y));
  CHECK(__float2int_rd(-x) == -__float2int_ru(x) && __float2uint_rz(x) == (unsigned)x && __float2ll_rn(x) == llrintf(x) && __int_as_float(__float_as_int(x)) == x);
  CHECK(__float2int_rz(1e20f) == 2147483647 && __float2uint_rz(-3.f) == 0 && __saturatef(x * 100) == fminf(x * 100, 1));
}
extern "C" __global__ void doubles(unsigned* out) {
  unsigned h = hash(GLOBAL_ID);
  double x = (h % 10000) / 700. + 0.01, y = (h / 10000 % 1000) / 300. + 0.1;
  NEAR(sin(x) * sin(x) + cos(x) * cos(x), 1, 1e-14); NEAR(exp(log(x)), x, 1e-14); NEAR(pow(x, y), exp(y * log(x)), 1e-12);
  NEAR(sqrt(x) * sqrt(x), x, 1e-15); NEAR(1 / (x / y), y / x, 1e-15); NEAR(rsqrt(x) * sqrt(x), 1, 1e-14);
  NEAR(atan(tan(y / 3)), y / 3, 1e-13); NEAR(tanh(y), (exp(2 * y) - 1) / (exp(2 * y) + 1), 1e-13);
  NEAR(sinpi(0.25), 0.7071067811865476, 1e-15);
  CHECK(fma(x, y, -x * y) != 0 || x * y == __dmul_rd(x, y));
  CHECK(__ddiv_rd(x, y) <= __ddiv_ru(x, y) && __dsqrt_rd(x) <= __dsqrt_ru(x) && __dadd_rd(x, 1e-20) == x && __dadd_ru(x, 1e-20) > x);
  CHECK(__double2int_rn(2.5) == 2 && __double2ll_rd(-x) == (long long)floor(-x) && __double2float_rd(x) <= x && __double2float_ru(x) >= x);
  CHECK(__hiloint2double(__double2hiint(x), __double2loint(x)) == x && __longlong_as_double(__double_as_longlong(x)) == x);
  CHECK((double)(long long)(x * 1e12) <= x * 1e12 && (float)(unsigned long long)(1ull << 63) == 9223372036854775808.f);
}
