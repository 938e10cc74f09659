// A sum in two steps: each CTA adds its part in shared memory, dynamic and static, and the last one adds those up. Asks the
// runtime how many CTAs fit. Without the barrier (-DRACY) halves are read that are not there yet.
#include <cstdio>
#include <vector>

__device__ unsigned finished;

__global__ void sum(const int *x, int n, int *parts, int *total) {
    extern __shared__ int each[];
    __shared__ bool last;
    int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];
    each[threadIdx.x] = mine;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
#ifndef RACY
        __syncthreads();
#endif
        if (threadIdx.x < half) each[threadIdx.x] += each[threadIdx.x + half];
    }
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = each[0];
        __threadfence();
        last = atomicAdd(&finished, 1) == gridDim.x - 1;
        if (last) {
            __threadfence();
            int all = 0;
            for (int i = 0; i < gridDim.x; i++) all += parts[i];
            *total = all;
        }
    }
}

int main() {
    const int n = 10000, threads = 128;
    std::vector<int> x(n);
    int right = 0;
    for (int i = 0; i < n; i++) right += x[i] = i % 37;
    int each = 0, processors = 0, device = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, sum, threads, threads * sizeof(int));
    cudaFuncAttributes attributes;
    if (cudaFuncGetAttributes(&attributes, sum) != cudaSuccess || attributes.maxThreadsPerBlock < threads) return 1;
    int grid = each * processors;
    if (grid < 1) return 1;
    int *device_x, *parts, *total, result = 0;
    cudaMalloc(&device_x, n * sizeof(int));
    cudaMalloc(&parts, grid * sizeof(int));
    cudaMalloc(&total, sizeof(int));
    cudaMemcpy(device_x, x.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    sum<<<grid, threads, threads * sizeof(int)>>>(device_x, n, parts, total);
    cudaMemcpy(&result, total, sizeof(int), cudaMemcpyDeviceToHost);
    std::printf("%d, and %d is right\n", result, right);
#ifdef RACY
    return 0;
#else
    return result == right ? 0 : 1;
#endif
}
