// Recursion, pointers to functions, virtual functions, switches, early returns, allocation, variadic arguments.
#include "common.h"
__device__ __noinline__ unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
struct Shape { __device__ virtual float area() const = 0; __device__ virtual ~Shape() {} };
struct Square : Shape { float s; __device__ Square(float s) : s(s) {} __device__ float area() const override { return s * s; } };
struct Box : Shape { float a, b; __device__ Box(float a, float b) : a(a), b(b) {} __device__ float area() const override { return a * b; } };
struct Big { int v[20]; };
__device__ __noinline__ Big turned(Big b, int by) { Big r; for (int i = 0; i < 20; i++) r.v[i] = b.v[(i + by) % 20]; return r; }
__device__ int plus_(int a, int b) { return a + b; }
__device__ int minus_(int a, int b) { return a - b; }
__device__ int times_(int a, int b) { return a * b; }
typedef int (*Op)(int, int);
__device__ Op ops[3] = {plus_, minus_, times_};
__device__ __noinline__ int choose(int k, int x) {
  switch (k) { case 0: return x + 11; case 1: return x * 3; case 2: return x ^ 5; case 3: return x - 8; case 4: return -x; case 5: return x << 2; case 6: return 77; default: return 0; }
}
extern "C" __global__ void calls(unsigned* out) {
  int t = threadIdx.x;
  unsigned a = 0, b = 1;
  for (int i = 0; i < t % 10; i++) { unsigned c = a + b; a = b; b = c; }
  CHECK(fib(t % 10) == a);
  CHECK(ackermann(2, t % 3) == 2 * (t % 3) + 3);
  Shape* s = t % 2 ? (Shape*)new Square(t) : (Shape*)new Box(t, 2);
  CHECK(s->area() == (t % 2 ? (float)t * t : 2.f * t));
  delete s;
  Big big; for (int i = 0; i < 20; i++) big.v[i] = i * t;
  Big r = turned(big, t % 20);
  CHECK(r.v[3] == (3 + t) % 20 * t || r.v[3] == (3 + t % 20) % 20 * t);
  int x = ops[t % 3](t, 7);
  CHECK(x == (t % 3 == 0 ? t + 7 : t % 3 == 1 ? t - 7 : t * 7));
  int e[8] = {t + 11, t * 3, t ^ 5, t - 8, -t, t << 2, 77, 0};
  CHECK(choose(t % 8, t) == e[t % 8]);
  int* p = (int*)malloc(40);
  for (int i = 0; i < 10; i++) p[i] = i + t;
  CHECK(p[9] == 9 + t);
  free(p);
}
