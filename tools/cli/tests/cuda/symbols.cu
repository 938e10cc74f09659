// Variables of the device: constant, global, an array, by value, by offset and by address. And what kernels print.
#include <cstdio>
#include <cstring>

__constant__ float weights[4];
__device__ int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ float result;

__global__ void weigh(const float *x) {
    float sum = 0;
    for (int i = 0; i < 4; i++) sum += weights[i] * x[i] * table[i];
    result = sum;
    printf("weighed: %.1f, table ends with %d\n", sum, table[7]);
}

int main() {
    float w[4] = {1, 0.5f, 0.25f, 2}, x[4] = {1, 2, 3, 4}, *device_x, got;
    int seven = 70;
    void *address;
    size_t size;
    cudaMalloc(&device_x, sizeof x);
    cudaMemcpy(device_x, x, sizeof x, cudaMemcpyHostToDevice);
    if (cudaMemcpyToSymbol(weights, w, sizeof w) != cudaSuccess) return 1;
    if (cudaMemcpyToSymbol(table, &seven, sizeof seven, 7 * sizeof(int)) != cudaSuccess) return 1;
    if (cudaMemcpyToSymbol(table, &seven, sizeof seven, 8 * sizeof(int)) != cudaErrorInvalidValue) return 1;
    cudaGetLastError();
    if (cudaGetSymbolAddress(&address, table) != cudaSuccess || cudaGetSymbolSize(&size, table) != cudaSuccess || size != 32) return 1;
    int first = 10;
    cudaMemcpy(address, &first, sizeof first, cudaMemcpyHostToDevice);
    std::printf("before\n");
    weigh<<<1, 1>>>(device_x);
    if (cudaMemcpyFromSymbol(&got, result, sizeof got) != cudaSuccess) return 1;
    std::printf("after: %.2f\n", got);
    // 1 * 1 * 10 + 0.5 * 2 * 2 + 0.25 * 3 * 3 + 2 * 4 * 4
    return got == 46.25f ? 0 : 1;
}
