// Counts bytes. The bins are raised without an atomic operation (RACY), or with one.
#include <cstdio>
#include <vector>

__global__ void count(const unsigned char *text, int n, unsigned *bins) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
#ifdef RACY
        bins[text[i]]++;  // the race
#else
        atomicAdd(&bins[text[i]], 1u);
#endif
    }
}

int main() {
    const int n = 4096;
    std::vector<unsigned char> text(n);
    for (int i = 0; i < n; i++) text[i] = i * i % 7;
    unsigned char *device_text;
    unsigned *bins, counted[256];
    cudaMalloc(&device_text, n);
    cudaMalloc(&bins, sizeof counted);
    cudaMemcpy(device_text, text.data(), n, cudaMemcpyHostToDevice);
    cudaMemset(bins, 0, sizeof counted);
    count<<<4, 64>>>(device_text, n, bins);
    cudaMemcpy(counted, bins, sizeof counted, cudaMemcpyDeviceToHost);
    unsigned all = 0;
    for (unsigned bin : counted) all += bin;
    std::printf("%u of %d bytes counted\n", all, n);
    return 0;
}
