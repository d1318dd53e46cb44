/* Stable sorting of pairs (key, number) by bits of the key, the lowest first: a pass of three
   launches for each 8 bits, or of two for a few tiles. A tile is 4096 pairs, the work of a block of
   256 threads: each of its 8 warps has 512 consecutive ones.

       gg_digits  the number of each digit in each tile: counts[digit][tile]
       gg_starts  replaces each count by the sum of the digit's counts in earlier tiles; the digits'
                  totals follow the counts. One block for each digit
       gg_place   moves every pair to its position; if COUNTED, each block adds up the counts itself

   variants: KEY=uint32_t,uint64_t COUNTED=0,1 */

#include "gpu_kernel.cuh"

#define GG_TILE 4096
#define GG_WARP_PART 512

GG_INLINE int gg_digit(KEY key, long long shift) { return (int)((key >> shift) & 255); }

extern "C" __global__ void gg_digits(const KEY *keys, uint32_t *counts, long long count, long long tiles, long long shift) {
    __shared__ uint32_t found[256];
    found[threadIdx.x] = 0;
    __syncthreads();
    const long long first = (long long)blockIdx.x * GG_TILE;
    const long long end = first + GG_TILE < count ? first + GG_TILE : count;
    for (long long at = first + threadIdx.x; at < end; at += 256) atomicAdd(&found[gg_digit(keys[at], shift)], 1u);
    __syncthreads();
    counts[threadIdx.x * tiles + blockIdx.x] = found[threadIdx.x];
}

/* The sum of the numbers of the threads before this one, and of all threads of the block. */
GG_INLINE uint32_t gg_before(uint32_t mine, uint32_t &all) {
    __shared__ uint32_t of_warp[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t sum = mine;
    for (int by = 1; by < 32; by <<= 1) {
        const uint32_t other = __shfl_up_sync(GG_FULL, sum, by);
        if (lane >= by) sum += other;
    }
    if (lane == 31) of_warp[warp] = sum;
    __syncthreads();
    uint32_t before = 0;
    all = 0;
    for (int other = 0; other < blockDim.x >> 5; other++) {
        if (other < warp) before += of_warp[other];
        all += of_warp[other];
    }
    __syncthreads();
    return before + sum - mine;
}

extern "C" __global__ void __launch_bounds__(1024) gg_starts(uint32_t *counts, long long tiles) {
    uint32_t *of_digit = counts + blockIdx.x * tiles;
    uint32_t start = 0, all;
    for (long long first = 0; first < tiles; first += blockDim.x) {
        const long long tile = first + threadIdx.x;
        const uint32_t before = gg_before(tile < tiles ? of_digit[tile] : 0, all);
        if (tile < tiles) of_digit[tile] = start + before;
        start += all;
    }
    if (threadIdx.x == 0) counts[gridDim.x * tiles + blockIdx.x] = start;
}

extern "C" __global__ void gg_place(const KEY *keys, const int32_t *numbers, const uint32_t *counts, KEY *keys_out, int32_t *numbers_out, long long count, long long tiles, long long shift) {
    __shared__ uint32_t next[8][256];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int digit = lane; digit < 256; digit += 32) next[warp][digit] = 0;
    __syncwarp();
    const long long first = (long long)blockIdx.x * GG_TILE + warp * GG_WARP_PART;
    for (int part = 0; part < GG_WARP_PART; part += 32) {
        const long long at = first + part + lane;
        if (at < count) atomicAdd(&next[warp][gg_digit(keys[at], shift)], 1u);
    }
    __syncthreads();
    uint32_t ahead = 0, total = 0, all;
#if COUNTED
    for (int tile = 0; tile < tiles; tile++) {
        const uint32_t here = counts[threadIdx.x * tiles + tile];
        if (tile < blockIdx.x) ahead += here;
        total += here;
    }
#else
    ahead = counts[threadIdx.x * tiles + blockIdx.x];
    total = counts[256 * tiles + threadIdx.x];
#endif
    uint32_t place = ahead + gg_before(total, all);
    for (int other = 0; other < 8; other++) {
        const uint32_t here = next[other][threadIdx.x];
        next[other][threadIdx.x] = place;
        place += here;
    }
    __syncthreads();
    for (int part = 0; part < GG_WARP_PART; part += 32) {
        const long long at = first + part + lane;
        const bool there = at < count;
        const KEY key = there ? keys[at] : 0;
        const int digit = there ? gg_digit(key, shift) : -1;
        const unsigned same = __match_any_sync(GG_FULL, digit);
        const unsigned before = same & ((1u << lane) - 1);
        uint32_t to = 0;
        if (there) to = next[warp][digit] + __popc(before);
        __syncwarp();
        if (there && !before) next[warp][digit] += __popc(same);
        __syncwarp();
        if (there) {
            keys_out[to] = key;
            numbers_out[to] = numbers[at];
        }
    }
}
