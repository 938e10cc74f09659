// What nvcc makes of ordinary CUDA C++, for `baton check`. smooth.ptx:
// nvcc -arch=sm_90 -ptx -lineinfo -std=c++17 -o smooth.ptx smooth.cu, and the folder taken out of `.file`.

// Each element becomes the sum of itself and its neighbours; the ends have one neighbour.
extern "C" __global__ void smooth(const int *in, int *out, unsigned n) {
    __shared__ int tile[130];
    const unsigned i = blockIdx.x * 128 + threadIdx.x;
    const auto at = [&](long long i) { return i >= 0 && i < n ? in[i] : 0; };
    tile[threadIdx.x + 1] = at(i);
    if (threadIdx.x == 0) {
        tile[0] = at(static_cast<long long>(i) - 1);
        tile[129] = at(static_cast<long long>(i) + 128);
    }
    __syncthreads();
    if (i < n)
        out[i] = tile[threadIdx.x] + tile[threadIdx.x + 1] + tile[threadIdx.x + 2];
}
