// Wide loads and stores with hints, structures, constants, initialised variables, local arrays.
#include "common.h"
struct Odd { char a; short b; int c; double d; float e[3]; };
__constant__ int table[8] = {1, -2, 3, -4, 5, -6, 7, -8};
__device__ Odd odd = {1, 2, 3, 4.5, {5, 6, 7}};
__device__ const char* word = "message";
__device__ alignas(32) int4 quads[512];
__device__ double2 doubles[256];
__device__ uchar4 bytes[256];
__device__ short2 shorts[256];
extern "C" __global__ void wide(unsigned* out) {
  unsigned g = GLOBAL_ID, h = hash(g);
  quads[2 * g] = make_int4(h, h + 1, h + 2, h + 3);
  __stcs(&quads[2 * g + 1], make_int4(h + 4, h + 5, h + 6, h + 7));
  doubles[g] = make_double2(h, -(double)h);
  bytes[g] = make_uchar4(h, h >> 8, h >> 16, h >> 24);
  __stwt(&shorts[g], make_short2(h, h >> 16));
  __syncwarp();
  int4 x = __ldcg(&quads[2 * (g ^ 1)]);
  int4 y = __ldcs(&quads[2 * (g ^ 1) + 1]);
  unsigned o = hash(g ^ 1);
  CHECK(x.x == (int)o && x.y == (int)o + 1 && x.z == (int)o + 2 && x.w == (int)o + 3 && y.x == (int)o + 4 && y.w == (int)o + 7);
  double2 d = doubles[g ^ 1];
  CHECK(d.x == o && d.y == -(double)o);
  uchar4 b = bytes[g ^ 1];
  CHECK(b.x == (o & 255) && b.y == (o >> 8 & 255) && b.z == (o >> 16 & 255) && b.w == o >> 24);
  short2 s = __ldcv(&shorts[g ^ 1]);
  CHECK(s.x == (short)o && s.y == (short)(o >> 16));
}
extern "C" __global__ void kinds(unsigned* out) {
  int t = threadIdx.x, sum = 0;
  CHECK(table[t % 8] == (t % 2 ? -1 : 1) * (t % 8 + 1));
  Odd mine = odd;
  CHECK(mine.a == 1 && mine.b == 2 && mine.c == 3 && mine.d == 4.5 && mine.e[t % 3] == 5 + t % 3);
  CHECK(word[t % 7] == "message"[t % 7]);
  int local[40];
  for (int i = 0; i < 40; i++) local[(i * 7 + t) % 40] = i;
  for (int i = 0; i < 40; i++) sum += local[i] * (i + 1);
  int plain = 0;
  for (int i = 0; i < 40; i++) plain += i * ((i * 7 + t) % 40 + 1);
  CHECK(sum == plain);
  extern __shared__ char raw[];
  Odd* shared = (Odd*)raw;
  if (t < 8) shared[t] = Odd{(char)t, (short)t, t, (double)t, {1, 2, 3}};
  __syncthreads();
  CHECK(shared[t % 8].d == t % 8 && shared[t % 8].e[1] == 2);
  bool global = __isGlobal(&odd), sh = __isShared(raw), loc = __isLocal(local);
  CHECK(global && sh && loc && !__isShared(&odd));
  char text[16];
  memset(text, 0, 16); memcpy(text, word, 7);
  CHECK(text[2] == 's' && text[8] == 0);
}
