// Each kernel checks what it computed against a plainer way to compute it; the line of a check that fails is its result.
#define CHECK(c) do { if (!(c)) out[blockIdx.x * blockDim.x + threadIdx.x] = __LINE__; } while (0)
#define GLOBAL_ID (blockIdx.x * blockDim.x + threadIdx.x)
__device__ static inline unsigned hash(unsigned x) {
  x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; return x ^ x >> 16;
}
