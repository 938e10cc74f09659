// Streams and events, functions of the host in a stream, memory of a stream, a dependent launch, and a sticky error.
#include <cstdio>

__global__ void fill(int *x, int value) {
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
    x[threadIdx.x] = value;
}

__global__ void twice(int *x) {
#if __CUDA_ARCH__ >= 900 && !defined(RACY)
    cudaGridDependencySynchronize();
#endif
    x[threadIdx.x] *= 2;
}

static int called;
static void CUDART_CB call(void *by) { called += *(int *)by; }

int main() {
    cudaStream_t one, other;
    cudaEvent_t start, end;
    int *x, host[64], five = 5;
    if (cudaStreamCreate(&one) != cudaSuccess || cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) != cudaSuccess) return 1;
    cudaEventCreate(&start);
    cudaEventCreate(&end);
    if (cudaMallocAsync(&x, sizeof host, one) != cudaSuccess) return 1;
    cudaEventRecord(start, one);
    fill<<<1, 64, 0, one>>>(x, 21);

    cudaLaunchAttribute dependent;
    dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    dependent.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 64;
    config.stream = one;
    config.attrs = &dependent;
    config.numAttrs = 1;
    if (cudaLaunchKernelEx(&config, twice, x) != cudaSuccess) return 1;
    cudaEventRecord(end, one);
    cudaStreamWaitEvent(other, end, 0);
    cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, other);
    cudaLaunchHostFunc(other, call, &five);
    if (cudaStreamSynchronize(other) != cudaSuccess || called != 5 || cudaEventQuery(end) != cudaSuccess) return 1;
    float milliseconds = -1;
    if (cudaEventElapsedTime(&milliseconds, start, end) != cudaSuccess || milliseconds <= 0) return 1;
    for (int i = 0; i < 64; i++)
        if (host[i] != 42) return 1;
    cudaFreeAsync(x, one);
    cudaStreamDestroy(one);
    if (cudaStreamSynchronize(one) == cudaSuccess) return 1;
    std::printf("in order\n");
#ifdef BEYOND
    cudaGetLastError();
    int *small;
    cudaMalloc(&small, 16);
    fill<<<1, 64>>>(small, 1);
    cudaError_t error = cudaDeviceSynchronize();
    std::printf("%s\n", cudaGetErrorName(error));
    return cudaMalloc(&x, 4) == error ? 0 : 1;
#endif
#ifdef ABSENT
    cudaGraph_t graph;
    return cudaGraphCreate(&graph, 0) == cudaErrorNotSupported ? 0 : 1;
#endif
    return 0;
}
