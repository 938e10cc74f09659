// Steps that all CTAs of a cooperative launch take together: each writes its part, the grid synchronises, and each reads what the
// next CTA wrote. Without that (-DRACY) the parts may not be there yet.
#include <cooperative_groups.h>
#include <cstdio>

namespace groups = cooperative_groups;

__global__ void turn(unsigned *from, unsigned *to, int steps) {
    auto grid = groups::this_grid();
    unsigned me = grid.thread_rank(), neighbour = (me + blockDim.x) % grid.size();
    for (int step = 0; step < steps; step++) {
        from[me] = 1000 * step + me;
#ifndef RACY
        grid.sync();
#endif
        to[me] = from[neighbour];
        grid.barrier_wait(grid.barrier_arrive());
    }
}

int main() {
    const int ctas = 8, threads = 64, all = ctas * threads;
    int steps = 3, together = 0, wrong = 0;
    cudaDeviceGetAttribute(&together, cudaDevAttrCooperativeLaunch, 0);
    if (!together) return 2;
    unsigned *from, *to, result[all];
    cudaMalloc(&from, sizeof result);
    cudaMalloc(&to, sizeof result);
    void *arguments[] = {&from, &to, &steps};
    if (cudaLaunchCooperativeKernel(turn, ctas, threads, arguments, 0, 0) != cudaSuccess) return 3;
    cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
    for (int i = 0; i < all; i++) wrong += result[i] != 1000 * (steps - 1) + (i + threads) % all;
    // Two CTAs of 1024 threads are on each of the eight multiprocessors at most.
    cudaError_t error = cudaLaunchCooperativeKernel(turn, 17, 1024, arguments, 0, 0);
    std::printf("%d wrong, %s\n", wrong, cudaGetErrorName(error));
#ifdef RACY
    return 0;
#else
    return wrong;
#endif
}
