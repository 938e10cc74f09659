// Twin of `examples/takeover`.
#include "common.cuh"

constexpr uint32_t ANSWERS = 2, FOLLOWERS = 2, STAGES = 2, ROW = 32;

__device__ uint32_t stirred(uint32_t number, uint32_t tile) {
    for (uint32_t i = 0; i <= tile % 5; i++) number = number * 3 ^ (tile + i);
    return number;
}

// Answers of the hardware, each with the barrier on which it comes and the one on which its readers hand it back.
struct Answers {
    alignas(16) longlong2 answers[ANSWERS];
    uint64_t full[ANSWERS], empty[ANSWERS];
};

// Where a thread is among the answers.
struct Cursor {
    uint32_t index = 0, phase = 0;

    __device__ void advance() {
        if (++index == ANSWERS) index = 0, phase ^= 1;
    }

    // Waits for an answer, reads it, and orders the read before the hardware's next write.
    __device__ longlong2 read(Answers& tiles) {
        wait(&tiles.full[index], phase);
        const longlong2 answer = tiles.answers[index];
        ptx::fence_proxy_async(ptx::space_shared);
        return answer;
    }

    // The next tile that this CTA does, for a warp that follows; none if nothing is left.
    __device__ bool next(Answers& tiles, uint32_t& tile) {
        const longlong2 answer = read(tiles);
        __syncwarp();
        if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &tiles.empty[index]);
        advance();
        if (!ptx::clusterlaunchcontrol_query_cancel_is_canceled(answer)) return false;
        tile = ptx::clusterlaunchcontrol_query_cancel_get_first_ctaid_x<uint32_t>(answer);
        return true;
    }
};

extern "C" __global__ void __block_size__((96, 1, 1))
    tiles(Slice<const uint32_t> input, Slice<uint32_t> output, Slice<uint32_t> by) {
    __shared__ Answers tiles;
    __shared__ uint32_t rows[STAGES][ROW];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    const uint32_t lane = threadIdx.x % 32;
    const uint64_t step = uint64_t(ROW) * gridDim.x;
    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < ANSWERS; i++) {
            ptx::mbarrier_init(&tiles.full[i], 1);
            ptx::mbarrier_init(&tiles.empty[i], uint32_t{FOLLOWERS});
        }
        for (uint32_t i = 0; i < STAGES; i++) {
            ptx::mbarrier_init(&full[i], 1);
            ptx::mbarrier_init(&empty[i], 1);
        }
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    Cursor cursor;
    uint32_t tile = blockIdx.x, index = 0, phase = 0;
    if (threadIdx.x < 32) {
        if (ptx::elect_sync(~0u)) {
            longlong2 answer;
            do {
                wait(&tiles.empty[cursor.index], cursor.phase ^ 1);
                ptx::mbarrier_arrive_expect_tx(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &tiles.full[cursor.index], 16);
                ptx::clusterlaunchcontrol_try_cancel(&tiles.answers[cursor.index], &tiles.full[cursor.index]);
                answer = cursor.read(tiles);
                cursor.advance();
            } while (ptx::clusterlaunchcontrol_query_cancel_is_canceled(answer));
        }
    } else if (threadIdx.x < 64) {
        do {
            for (uint64_t first = uint64_t(ROW) * tile; first < input.len; first += step) {
                wait(&empty[index], phase ^ 1);
                rows[index][lane] = first + lane < input.len ? input.data[first + lane] : 0;
                __syncwarp();
                if (lane == 0) ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[index]);
                if (++index == STAGES) index = 0, phase ^= 1;
            }
        } while (cursor.next(tiles, tile));
    } else {
        do {
            for (uint64_t first = uint64_t(ROW) * tile; first < input.len; first += step) {
                wait(&full[index], phase);
                const uint32_t number = rows[index][ROW - 1 - lane];
                __syncwarp();
                if (lane == 0) ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &empty[index]);
                if (++index == STAGES) index = 0, phase ^= 1;
                if (first + lane < output.len) output.data[first + lane] = stirred(number, tile);
                if (first + lane < by.len) by.data[first + lane] = blockIdx.x;
            }
        } while (cursor.next(tiles, tile));
    }
}
