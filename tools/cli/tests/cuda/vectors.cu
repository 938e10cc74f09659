// Adds vectors: device memory, managed memory, pinned memory that a kernel reads in place, and rows with a pitch.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) \
    do { cudaError_t e = (call); if (e != cudaSuccess) { std::printf("%s: %s\n", #call, cudaGetErrorString(e)); std::exit(3); } } while (0)

__global__ void add(const float *a, const float *b, float *sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = a[i] + b[i];
}

__global__ void turn(const int *rows, size_t pitch, int *columns, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width) columns[x * height + y] = *(const int *)((const char *)rows + y * pitch + 4 * x);
}

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 1000;
    std::vector<float> a(n), sum(n);
    for (int i = 0; i < n; i++) a[i] = i;
    float *device_a, *managed, *pinned, *device_sum;
    CHECK(cudaMalloc(&device_a, n * sizeof(float)));
    CHECK(cudaMalloc(&device_sum, n * sizeof(float)));
    CHECK(cudaMallocManaged(&managed, n * sizeof(float)));
    CHECK(cudaMallocHost(&pinned, n * sizeof(float)));
    for (int i = 0; i < n; i++) managed[i] = 2 * i, pinned[i] = 10000;
    CHECK(cudaMemcpy(device_a, a.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    add<<<(n + 127) / 128, 128>>>(device_a, managed, device_sum, n);
    // The sum goes into the managed memory, where the host reads it.
    add<<<(n + 127) / 128, 128>>>(device_sum, pinned, managed, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(sum.data(), device_sum, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        if (sum[i] != 3 * i || managed[i] != 10000 + 3 * i) {
            std::printf("element %d: %f, %f\n", i, sum[i], managed[i]);
            return 1;
        }

    const int width = 20, height = 7;
    int rows[height][width], columns[width][height], *device_rows, *device_columns;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) rows[y][x] = 100 * y + x;
    size_t pitch;
    CHECK(cudaMallocPitch(&device_rows, &pitch, sizeof rows[0], height));
    CHECK(cudaMalloc(&device_columns, sizeof columns));
    CHECK(cudaMemcpy2D(device_rows, pitch, rows, sizeof rows[0], sizeof rows[0], height, cudaMemcpyHostToDevice));
    turn<<<height, 32>>>(device_rows, pitch, device_columns, width, height);
    CHECK(cudaMemcpy(columns, device_columns, sizeof columns, cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            if (columns[x][y] != rows[y][x]) return 1;

    // What the runtime refuses.
    if (cudaMemcpy(device_sum, a.data(), 4 * n + 4, cudaMemcpyHostToDevice) != cudaErrorInvalidValue) return 1;
    if (cudaGetLastError() != cudaErrorInvalidValue || cudaGetLastError() != cudaSuccess) return 1;
    add<<<1, 2048>>>(device_a, managed, device_sum, n);
    if (cudaGetLastError() != cudaErrorInvalidConfiguration) return 1;
    CHECK(cudaFree(device_a));
    if (cudaFree(device_a) != cudaErrorInvalidValue) return 1;
    CHECK(cudaFree(managed));
    CHECK(cudaFreeHost(pinned));
    std::printf("%d sums are right\n", n);
    return 0;
}
