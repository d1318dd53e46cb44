/* Selection of elements, in order: the count in each tile, then the start of each tile, then each
   element with its position. A tile is 4096 elements, the work of a block of 256 threads: each of
   its 8 warps has 512 consecutive ones. */

#pragma once

#define GG_TILE 4096
#define GG_WARP_PART 512
#define GG_WHOLE(at, count) for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += (long long)gridDim.x * blockDim.x)

/* The number of this warp's elements that are chosen(at). */
template <class Chosen> GG_INLINE int gg_warp_count(long long count, Chosen chosen) {
    const long long first = (long long)blockIdx.x * GG_TILE + (threadIdx.x >> 5) * GG_WARP_PART;
    int found = 0;
    for (int part = 0; part < GG_WARP_PART; part += 32) {
        const long long at = first + part + (threadIdx.x & 31);
        found += __popc(__ballot_sync(GG_FULL, at < count && chosen(at)));
    }
    return found;
}

/* starts[tile] = the number of its elements that are chosen(at). */
template <class Chosen> GG_INLINE void gg_tile_count(long long *starts, long long count, Chosen chosen) {
    __shared__ int of_warp[8];
    const int mine = gg_warp_count(count, chosen);
    if ((threadIdx.x & 31) == 0) of_warp[threadIdx.x >> 5] = mine;
    __syncthreads();
    if (threadIdx.x) return;
    int sum = 0;
    for (int warp = 0; warp < 8; warp++) sum += of_warp[warp];
    starts[blockIdx.x] = sum;
}

/* found(at, number of chosen elements before it, whether it is chosen) for each element of this
   tile. */
template <class Chosen, class Found> GG_INLINE void gg_tile_each(const long long *starts, long long count, Chosen chosen, Found found) {
    __shared__ int of_warp[8];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int mine = gg_warp_count(count, chosen);
    if (lane == 0) of_warp[warp] = mine;
    __syncthreads();
    long long before = starts[blockIdx.x];
    for (int other = 0; other < warp; other++) before += of_warp[other];
    const long long first = (long long)blockIdx.x * GG_TILE + warp * GG_WARP_PART;
    for (int part = 0; part < GG_WARP_PART; part += 32) {
        const long long at = first + part + lane;
        const bool is = at < count && chosen(at);
        const unsigned votes = __ballot_sync(GG_FULL, is);
        if (at < count) found(at, before + __popc(votes & ((1u << lane) - 1)), is);
        before += __popc(votes);
    }
}

/* Replaces each tile's count by the sum of those before it, and *total by the sum: one block of
   1024. */
extern "C" __global__ void __launch_bounds__(1024) gg_tile_starts(long long *starts, long long *total, long long tiles) {
    __shared__ long long of_warp[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    long long start = 0;
    for (long long first = 0; first < tiles; first += 1024) {
        const long long at = first + threadIdx.x;
        const long long mine = at < tiles ? starts[at] : 0;
        long long sum = mine;
        for (int by = 1; by < 32; by <<= 1) {
            const long long other = __shfl_up_sync(GG_FULL, sum, by);
            if (lane >= by) sum += other;
        }
        if (lane == 31) of_warp[warp] = sum;
        __syncthreads();
        long long all = 0;
        for (int other = 0; other < 32; other++) {
            if (other == warp) sum += all;
            all += of_warp[other];
        }
        if (at < tiles) starts[at] = start + sum - mine;
        start += all;
        __syncthreads();
    }
    if (threadIdx.x == 0) *total = start;
}

