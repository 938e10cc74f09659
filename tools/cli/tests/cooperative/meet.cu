// All CTAs of a grid write, meet, and read what the next one wrote. `nvcc -arch=sm_90 -ptx -I…/cccl meet.cu`
#include <cooperative_groups.h>

extern "C" __global__ void meet(unsigned *from, unsigned *to) {
    auto grid = cooperative_groups::this_grid();
    unsigned me = grid.thread_rank();
    from[me] = me;
    grid.sync();
    to[me] = from[(me + blockDim.x) % grid.size()];
}
