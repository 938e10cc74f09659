// Twins of `examples/protocols`.
#include "common.cuh"
#include <cassert>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;
constexpr uint32_t THREADS = 64;

__device__ uint32_t turn(uint32_t number, uint32_t z) { return number * 3 + z; }
__device__ uint32_t entry(uint64_t i) { return (uint32_t(i) + 1) * 0x9e3779b9u; }
__device__ uint32_t cell(uint32_t left, uint32_t own, uint32_t right) { return (left * 5 + own) ^ right; }
__device__ uint32_t shadow(uint32_t number) { return ~(number * 7); }

__device__ void all_alike(Guarded array) {
    for (uint64_t i = 1; i < array.len; i++)
        assert(array.data[i] == array.data[0]);
}

__device__ void lock(Word word) {
    while (word.exchange(1, acquire) != 0) {
        while (word.load(relaxed) != 0) {
        }
    }
}

extern "C" __global__ void __block_size__((64, 1, 1)) spin(Guarded totals, uint32_t rounds) {
    Word word(totals.words[0]);
    for (uint32_t round = 0; round < rounds; round++) {
        if (threadIdx.x == 0) lock(word);
        __syncthreads();
        for (uint64_t i = threadIdx.x; i < totals.len; i += THREADS) totals.data[i] += 1;
        __syncthreads();
        all_alike(totals);
        __syncthreads();
        if (threadIdx.x == 0) word.store(0, release);
    }
}

extern "C" __global__ void __block_size__((64, 1, 1)) tickets(Guarded totals, uint32_t rounds) {
    Word next(totals.words[0]), serving(totals.words[1]);
    if (threadIdx.x < 32) {
        for (uint32_t round = 0; round < rounds; round++) {
            uint32_t ticket = 0;
            if (threadIdx.x == 0) {
                ticket = next.fetch_add(1, relaxed);
                while (serving.load(acquire) != ticket) {
                }
            }
            __syncwarp();
            for (uint64_t i = threadIdx.x; i < totals.len; i += 32) totals.data[i] += 1;
            __syncwarp();
            if (threadIdx.x == 0) serving.store(ticket + 1, release);
        }
    } else if (ptx::elect_sync(~0u)) {
        for (uint32_t round = 0; round < rounds; round++) {
            const uint32_t ticket = next.fetch_add(1, relaxed);
            while (serving.load(acquire) != ticket) {
            }
            for (uint64_t i = 0; i < totals.len; i++) totals.data[i] += 1;
            serving.store(ticket + 1, release);
        }
    }
}

constexpr uint32_t WRITER = 1u << 31;

extern "C" __global__ void __block_size__((64, 1, 1)) readers(Guarded totals, uint32_t rounds) {
    Word word(totals.words[0]);
    if (threadIdx.x < 32) {
        for (uint32_t round = 0; round < rounds; round++) {
            if (threadIdx.x == 0) {
                for (;;) {
                    uint32_t free = 0;
                    if (word.compare_exchange_strong(free, WRITER, acquire, relaxed)) break;
                    while (word.load(relaxed) != 0) {
                    }
                }
            }
            __syncwarp();
            for (uint64_t i = threadIdx.x; i < totals.len; i += 32) totals.data[i] += 1;
            __syncwarp();
            if (threadIdx.x == 0) word.fetch_and(~WRITER, release);
        }
    } else {
        for (uint32_t round = 0; round < rounds; round++) {
            if (threadIdx.x == 32) {
                while (word.fetch_add(1, acquire) & WRITER) {
                    word.fetch_sub(1, relaxed);
                    while (word.load(relaxed) & WRITER) {
                    }
                }
            }
            __syncwarp();
            all_alike(totals);
            __syncwarp();
            if (threadIdx.x == 32) word.fetch_sub(1, release);
        }
    }
}

extern "C" __global__ void __block_size__((64, 1, 1)) turns(Guarded tiles) {
    const uint64_t tile = blockIdx.x + uint64_t(gridDim.x) * blockIdx.y;
    const uint64_t len = tiles.len / (uint64_t(gridDim.x) * gridDim.y);
    uint32_t* const data = tiles.data + tile * len;
    Word word(tiles.words[tile]);
    if (threadIdx.x == 0) {
        while (word.load(acquire) != blockIdx.z) {
        }
    }
    __syncthreads();
    for (uint64_t i = threadIdx.x; i < len; i += THREADS) data[i] = turn(data[i], blockIdx.z);
    __syncthreads();
    if (threadIdx.x == 0) word.store(blockIdx.z + 1, release);
}

__device__ uint64_t block() { return blockIdx.x + gridDim.x * (blockIdx.y + uint64_t(gridDim.y) * blockIdx.z); }
__device__ uint64_t blocks() { return uint64_t(gridDim.x) * gridDim.y * gridDim.z; }

extern "C" __global__ void __block_size__((64, 1, 1)) last(Guarded parts, Guarded output, Slice<uint32_t> counts) {
    const uint64_t mine = block() * THREADS + threadIdx.x;
    const uint64_t part = parts.len / blocks(), out = output.len / blocks();
    Word arrived(parts.words[0]), done(output.words[0]);
    for (uint64_t i = threadIdx.x; i < part; i += THREADS) parts.data[block() * part + i] = entry(block() * part + i);
    __syncthreads();
    bool is_last = false;
    if (threadIdx.x == 0) {
        is_last = arrived.fetch_add(1, release) == blocks() - 1;
        ptx::fence(ptx::sem_acquire, ptx::scope_gpu);
    }
    uint32_t sum = 0;
    if (__syncthreads_or(is_last))
        for (uint64_t i = 0; i < parts.len; i++) sum += parts.data[i];
    for (uint64_t i = threadIdx.x; i < out; i += THREADS) output.data[block() * out + i] = sum;
    __syncthreads();
    is_last = false;
    if (threadIdx.x == 0) is_last = done.fetch_add(1, acq_rel) == blocks() - 1;
    if (__syncthreads_or(is_last)) {
        uint32_t count = 0;
        for (uint64_t i = 0; i < output.len; i++) count += output.data[i] != 0;
        counts.data[mine] = count;
    }
}

extern "C" __global__ void __block_size__((64, 1, 1)) once(Guarded table, Slice<uint32_t> output) {
    Word word(table.words[0]);
    bool first = false;
    if (threadIdx.x == 0) {
        uint32_t none = 0;
        first = word.compare_exchange_strong(none, 1, relaxed, relaxed);
    }
    if (__syncthreads_or(first)) {
        for (uint64_t i = threadIdx.x; i < table.len; i += THREADS) table.data[i] = entry(i) + blockIdx.x;
        __syncthreads();
        if (threadIdx.x == 0) word.store(2, release);
    } else {
        if (threadIdx.x == 0) {
            while (word.load(acquire) != 2) {
            }
        }
        __syncthreads();
    }
    const uint64_t stride = blocks() * THREADS;
    for (uint64_t i = block() * THREADS + threadIdx.x; i < output.len; i += stride)
        output.data[i] = table.data[i % table.len];
}

struct Grid {
    Guarded front;
    uint32_t* back;
    uint64_t back_len;
};

extern "C" __global__ void __block_size__((64, 1, 1)) grid(Grid cells, uint32_t steps) {
    const uint64_t len = cells.front.len < cells.back_len ? cells.front.len : cells.back_len;
    const uint32_t ctas = uint32_t(blocks());
    uint32_t *front = cells.front.data, *back = cells.back;
    Word word(cells.front.words[0]);
    uint32_t target = ctas;
    for (uint32_t step = 0; step < steps; step++) {
        for (uint64_t i = block() * THREADS + threadIdx.x; i < len; i += uint64_t(THREADS) * ctas) {
            const uint64_t left = i == 0 ? len - 1 : i - 1, right = i + 1 == len ? 0 : i + 1;
            back[i] = cell(front[left], front[i], front[right]);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(cells.front.words) : "memory");
            while (int32_t(word.load(acquire) - target) < 0) {
            }
        }
        __syncthreads();
        target += ctas;
        uint32_t* const old = front;
        front = back;
        back = old;
    }
}

extern "C" __global__ void __block_size__((64, 1, 1)) pairs(Guarded pair, uint32_t rounds) {
    Word count(pair.words[0]), number(pair.data[0]), second(pair.data[1]);
    check(pair.len >= 2);
    if (threadIdx.x < 32) {
        if (ptx::elect_sync(~0u)) {
            for (uint32_t round = 0; round < rounds; round++) {
                uint32_t even = 0;
                for (;;) {
                    uint32_t seen = even;
                    if (count.compare_exchange_strong(seen, even | 1, relaxed, relaxed)) break;
                    even = seen + seen % 2;
                }
                ptx::fence(ptx::sem_acq_rel, ptx::scope_gpu);
                const uint32_t next = pair.data[0] + 1;
                number.store(next, relaxed);
                second.store(shadow(next), relaxed);
                count.store(even + 2, release);
            }
        }
    } else if (ptx::elect_sync(~0u)) {
        uint32_t last = 0;
        for (uint32_t round = 0; round < rounds; round++) {
            uint32_t one, two;
            for (;;) {
                const uint32_t before = count.load(acquire);
                one = number.load(relaxed), two = second.load(relaxed);
                ptx::fence(ptx::sem_acquire, ptx::scope_gpu);
                if (before % 2 == 0 && count.load(relaxed) == before) break;
            }
            assert(two == (one == 0 ? 0 : shadow(one)));
            assert(one >= last);
            last = one;
        }
    }
}

// A place of a bounded queue: two counters, then a word for each place, then the elements.
struct Place {
    uint64_t index;
    uint32_t next;
    bool found;
};

// The place at the end of the queue that `count` counts, whose turn is `after` behind its number.
__device__ Place place(Guarded queue, uint32_t end, uint32_t after) {
    Word count(queue.words[end]);
    uint32_t at = count.load(relaxed);
    for (;;) {
        const uint64_t index = at & (queue.len - 1);
        // The words count from the place's own number, so that a fresh queue is zeroes.
        const uint32_t turn = Word(queue.words[2 + index]).load(acquire) + uint32_t(index);
        const int32_t ahead = int32_t(turn - (at + after));
        if (ahead < 0) return {0, 0, false};
        if (ahead == 0) {
            if (count.compare_exchange_strong(at, at + 1, relaxed, relaxed)) {
                // A push leaves the place to the pop of its number, a pop to the push one lap later.
                const uint32_t next = after == 0 ? at + 1 : at + uint32_t(queue.len);
                return {index, next - uint32_t(index), true};
            }
        } else {
            at = count.load(relaxed);
        }
    }
}

__device__ bool push(Guarded queue, uint32_t value) {
    const Place to = place(queue, 0, 0);
    if (!to.found) return false;
    queue.data[to.index] = value;
    Word(queue.words[2 + to.index]).store(to.next, release);
    return true;
}

__device__ bool pop(Guarded queue, uint32_t& value) {
    const Place from = place(queue, 1, 1);
    if (!from.found) return false;
    value = queue.data[from.index];
    Word(queue.words[2 + from.index]).store(from.next, release);
    return true;
}

extern "C" __global__ void __block_size__((64, 1, 1)) queue(Guarded numbers, Guarded seen, uint32_t count) {
    const uint64_t len = numbers.len;
    check(len >= 2 && (len & (len - 1)) == 0 && len <= 1u << 31 && len + 2 <= numbers.objects);
    if (threadIdx.x < 32) {
        if (ptx::elect_sync(~0u)) {
            for (uint32_t i = 0; i < count; i++) {
                while (!push(numbers, blockIdx.x * count + i)) {
                }
            }
        }
    } else if (ptx::elect_sync(~0u)) {
        Word word(seen.words[0]);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t number;
            while (!pop(numbers, number)) {
            }
            check(number < seen.len);
            lock(word);
            seen.data[number] += 1;
            seen.data[seen.len - 1] += 1;
            word.store(0, release);
        }
    }
}

extern "C" __global__ void __block_size__((64, 1, 1), (2, 1, 1)) peers(Slice<uint32_t> numbers, uint32_t rounds) {
    __shared__ uint32_t halves[THREADS];
    const uint64_t at = uint64_t(blockIdx.x) * THREADS + threadIdx.x;
    const uint32_t me = threadIdx.x;
    check(at < numbers.len);
    uint32_t number = numbers.data[at];
    const uint32_t* const other = cg::this_cluster().map_shared_rank(halves, cg::this_cluster().block_rank() ^ 1);
#pragma unroll 1
    for (uint32_t round = 0; round < rounds; round++) {
        halves[me] = number;
        if (round % 2 == 0) {
            ptx::barrier_cluster_arrive(ptx::sem_release);
        } else {
            ptx::fence(ptx::sem_release, ptx::scope_cluster);
            ptx::barrier_cluster_arrive(ptx::sem_relaxed);
        }
        ptx::barrier_cluster_wait(ptx::sem_acquire);
        number = turn(other[THREADS - 1 - me], me);
        ptx::barrier_cluster_arrive(ptx::sem_release);
        ptx::barrier_cluster_wait(ptx::sem_acquire);
    }
    numbers.data[at] = number;
}

constexpr uint32_t STAGE = 128;

extern "C" __global__ void __block_size__((64, 1, 1)) copies(Slice<const uint32_t> input, Slice<uint32_t> output) {
    __shared__ uint32_t stage[2][STAGE];
    __shared__ uint64_t full[2], empty[2];
    const uint32_t lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < 2; i++) {
            ptx::mbarrier_init(&full[i], 1);
            ptx::mbarrier_init(&empty[i], 1);
        }
    }
    __syncthreads();
    const uint64_t stages = input.len / STAGE;
    uint32_t index = 0, phase = 0;
    if (threadIdx.x < 32) {
        for (uint64_t s = blockIdx.x; s < stages; s += gridDim.x) {
            wait(&empty[index], phase ^ 1);
            for (uint32_t i = lane; i < STAGE; i += 32) {
                const auto to = uint32_t(__cvta_generic_to_shared(&stage[index][i]));
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(input.data + s * STAGE + i) : "memory");
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
            asm volatile("cp.async.wait_group 0;" ::: "memory");
            __syncwarp();
            if (lane == 0) ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[index]);
            if (++index == 2) index = 0, phase ^= 1;
        }
    } else {
        uint64_t at = uint64_t(blockIdx.x) * 32 + lane;
        for (uint64_t s = blockIdx.x; s < stages; s += gridDim.x) {
            wait(&full[index], phase);
            for (uint32_t part = 0; part < STAGE / 32; part++, at += uint64_t(gridDim.x) * 32)
                if (at < output.len) output.data[at] = turn(stage[index][32 * part + lane], part);
            __syncwarp();
            if (lane == 0) ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &empty[index]);
            if (++index == 2) index = 0, phase ^= 1;
        }
    }
}
