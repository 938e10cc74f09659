// Bits, funnels, bytes, dot products and the SIMD intrinsics, against loops.
#include "common.h"
__device__ int sb(unsigned x, int i) { return (signed char)(x >> 8 * i); }
__device__ int ub(unsigned x, int i) { return (unsigned char)(x >> 8 * i); }
__device__ int sh(unsigned x, int i) { return (short)(x >> 16 * i); }
__device__ int uh(unsigned x, int i) { return (unsigned short)(x >> 16 * i); }
#define BYTES(f, expr) { unsigned r = f, e = 0; for (int i = 0; i < 4; i++) e |= ((expr) & 255u) << 8 * i; CHECK(r == e); }
#define HALVES(f, expr) { unsigned r = f, e = 0; for (int i = 0; i < 2; i++) e |= ((expr) & 65535u) << 16 * i; CHECK(r == e); }
extern "C" __global__ void bits(unsigned* out) {
  #pragma unroll 1
  for (unsigned k = 0; k < 4; k++) {
    unsigned x = hash(GLOBAL_ID * 4 + k + 1), y = hash(x), z = hash(y), n = 0, rev = 0, s = z % 40;
    unsigned long long w = (unsigned long long)x << 32 | y;
    for (int i = 0; i < 32; i++) { n += x >> i & 1; rev |= (x >> i & 1) << (31 - i); }
    CHECK(__popc(x) == n && __brev(x) == rev && __popcll(w) == n + __popc(y) && __brevll(w) == ((unsigned long long)__brev(y) << 32 | rev));
    CHECK(__clz(x >> s % 32) == (x >> s % 32 ? 31 - (int)log2f((float)(x >> s % 32 & ~(x >> s % 32 >> 1))) : 32));
    CHECK(__ffs(x) == __popc(x ^ (x - 1)) - (x == 0 ? 32 : 0) && __clzll(w) == (x ? __clz(x) : 32 + __clz(y)) && __ffsll(w << 20) >= 0);
    CHECK(__funnelshift_l(x, y, s) == (s % 32 ? y << s % 32 | x >> (32 - s % 32) : y) && __funnelshift_r(x, y, s) == (unsigned)((((unsigned long long)y << 32) | x) >> s % 32));
    CHECK(__funnelshift_lc(x, y, s) == (s >= 32 ? x : __funnelshift_l(x, y, s)) && __funnelshift_rc(x, y, s) == (s >= 32 ? y : __funnelshift_r(x, y, s)));
    CHECK(__byte_perm(x, y, z & 0x7777) == ({ unsigned q = 0; for (int i = 0; i < 4; i++) { unsigned c = z >> 4 * i & 7; q |= (c & 4 ? ub(y, c & 3) : ub(x, c & 3)) << 8 * i; } q; }));
    CHECK(__mulhi((int)x, (int)y) == (int)((long long)(int)x * (int)y >> 32) && __umulhi(x, y) == (unsigned)((unsigned long long)x * y >> 32));
    CHECK(__umul64hi(w, w) == (unsigned long long)((unsigned __int128)w * w >> 64) && __mul64hi(w, 3) == (long long)((__int128)(long long)w * 3 >> 64));
    CHECK(__umul24(x, y) == (x & 0xffffff) * (y & 0xffffff) && __sad((int)x, (int)y, 1) == 1 + (unsigned)((int)x < (int)y ? y - x : x - y) && __usad(x, y, z) == z + (x < y ? y - x : x - y));
    CHECK(__hadd((int)x, (int)y) == (int)(((long long)(int)x + (int)y) >> 1) && __urhadd(x, y) == (unsigned)(((unsigned long long)x + y + 1) >> 1));
    int d = (int)z, u = (int)z; for (int i = 0; i < 4; i++) { d += sb(x, i) * sb(y, i); u += ub(x, i) * ub(y, i); }
    CHECK(__dp4a((int)x, (int)y, (int)z) == d && __dp4a(x, y, z) == (unsigned)u);
    CHECK(__dp2a_lo((int)x, (int)y, (int)z) == (int)z + sh(x, 0) * sb(y, 0) + sh(x, 1) * sb(y, 1) && __dp2a_hi(x, y, z) == z + uh(x, 0) * ub(y, 2) + uh(x, 1) * ub(y, 3));
    BYTES(__vadd4(x, y), ub(x, i) + ub(y, i)) BYTES(__vsub4(x, y), ub(x, i) - ub(y, i)) BYTES(__vaddus4(x, y), min(255, ub(x, i) + ub(y, i)))
    BYTES(__vaddss4(x, y), max(-128, min(127, sb(x, i) + sb(y, i)))) BYTES(__vsubus4(x, y), max(0, ub(x, i) - ub(y, i)))
    BYTES(__vabsdiffu4(x, y), abs(ub(x, i) - ub(y, i))) BYTES(__vabsdiffs4(x, y), abs(sb(x, i) - sb(y, i))) BYTES(__vmaxu4(x, y), max(ub(x, i), ub(y, i)))
    BYTES(__vmins4(x, y), min(sb(x, i), sb(y, i))) BYTES(__vavgu4(x, y), (ub(x, i) + ub(y, i) + 1) / 2) BYTES(__vcmpgtu4(x, y), ub(x, i) > ub(y, i) ? 255 : 0)
    BYTES(__vseteq4(x, y), ub(x, i) == ub(y, i)) BYTES(__vneg4(x), -sb(x, i)) BYTES(__vabs4(x), abs(sb(x, i)))
    HALVES(__vadd2(x, y), uh(x, i) + uh(y, i)) HALVES(__vmaxs2(x, y), max(sh(x, i), sh(y, i))) HALVES(__vminu2(x, y), min(uh(x, i), uh(y, i)))
    HALVES(__vaddss2(x, y), max(-32768, min(32767, sh(x, i) + sh(y, i)))) HALVES(__vabsdiffu2(x, y), abs(uh(x, i) - uh(y, i))) HALVES(__vcmpltu2(x, y), uh(x, i) < uh(y, i) ? 65535 : 0)
    HALVES(__viaddmax_s16x2(x, y, z), max((short)(sh(x, i) + sh(y, i)), sh(z, i))) HALVES(__vimax_s16x2_relu(x, y), max(0, max(sh(x, i), sh(y, i))))
    CHECK(__vsadu4(x, y) == abs(ub(x, 0) - ub(y, 0)) + abs(ub(x, 1) - ub(y, 1)) + abs(ub(x, 2) - ub(y, 2)) + abs(ub(x, 3) - ub(y, 3)));
    CHECK(__vimax3_s32((int)x, (int)y, (int)z) == max((int)x, max((int)y, (int)z)) && __vimin3_u32(x, y, z) == min(x, min(y, z)));
    CHECK(__fns(x, 0, 3) == ({ unsigned v = x, at = ~0u; int c = 0; for (int i = 0; i < 32; i++) if (v >> i & 1 && ++c == 3) { at = i; break; } at; }));
    unsigned __int128 big = (unsigned __int128)w * w + x; unsigned long long q = 0;
    unsigned __int128 rest = 0; for (int i = 127; i >= 0; i--) { rest = rest << 1 | (big >> i & 1); q <<= 1; if (rest >= w) { rest -= w; q |= 1; } }
    CHECK(big / w == w + (x >= w) && rest == big % w);
    CHECK((long long)w / ((int)z | 1) * ((int)z | 1) + (long long)w % ((int)z | 1) == (long long)w && w / (z | 1) * (z | 1) + w % (z | 1) == w && (int)x / ((int)y | 1) * ((int)y | 1) + (int)x % ((int)y | 1) == (int)x);
  }
}
extern "C" __global__ void clocks(unsigned* out) {
  unsigned long long a, b; unsigned lane, warp, sm, mask;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(a));
  long long c = clock64(); unsigned c32 = clock();
  __nanosleep(100);
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(b));
  CHECK(b >= a && clock64() >= c && clock() - c32 < 1u << 31);
  asm("mov.u32 %0, %%laneid;" : "=r"(lane)); asm("mov.u32 %0, %%warpid;" : "=r"(warp)); asm("mov.u32 %0, %%smid;" : "=r"(sm)); asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  CHECK(lane == threadIdx.x % 32 && mask == (1u << lane) - 1 && warp < 64 && sm < 1000);
  CHECK(__reduce_add_sync(~0u, lane) == 496 && __reduce_max_sync(~0u, lane) == 31 && __reduce_xor_sync(~0u, 1u << lane) == ~0u && __all_sync(~0u, 1) && __ballot_sync(~0u, lane & 1) == 0xaaaaaaaa);
  int all; CHECK(__match_all_sync(~0u, 5ull, &all) == ~0u && all && __match_any_sync(~0u, lane / 4) == 15u << lane / 4 * 4);
  CHECK(__shfl_up_sync(~0u, lane, 3) == (lane < 3 ? lane : lane - 3) && __shfl_xor_sync(~0u, (double)lane, 5, 16) == (lane ^ 5) && __shfl_sync(~0u, lane, 20, 8) == lane / 8 * 8 + 4);
}
