/* Philox4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): blocks
   of four words from a key and a 128-bit counter, the same as gpugraph/ops/random/philox.py
   computes on the host.

   A stream is four 64-bit words of device memory: lower and upper half of the counter of its next
   block, the key, and the number of thread blocks that have read it. */

#pragma once
#include "gpu_kernel.cuh"

typedef unsigned long long gg_word;

struct gg_place {
    gg_word key, low, high;
};

struct gg_words {
    uint32_t of[4];
};

/* The words of the block a number of counters further on. */
GG_INLINE gg_words gg_philox(const gg_place &place, gg_word further) {
    const gg_word low = place.low + further, high = place.high + (low < further);
    uint32_t c0 = (uint32_t)low, c1 = (uint32_t)(low >> 32);
    uint32_t c2 = (uint32_t)high, c3 = (uint32_t)(high >> 32);
    uint32_t k0 = (uint32_t)place.key, k1 = (uint32_t)(place.key >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        const uint32_t first = __umulhi(0xD2511F53u, c0), second = __umulhi(0xCD9E8D57u, c2);
        const uint32_t n1 = 0xCD9E8D57u * c2, n3 = 0xD2511F53u * c0;
        c0 = second ^ c1 ^ k0, c2 = first ^ c3 ^ k1;
        c1 = n1, c3 = n3;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

/* The position of a stream, which then advances by `blocks`, once the whole grid has read it. All
   threads of the grid call this. */
GG_INLINE gg_place gg_taken(gg_word *stream, gg_word blocks) {
    const gg_place place = {stream[2], stream[0], stream[1]};
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(stream + 3, 1ull) + 1 == gridDim.x) {
            __threadfence(); /* the other blocks' reads come before these writes */
            const gg_word low = place.low + blocks;
            stream[0] = low;
            stream[1] = place.high + (low < blocks);
            stream[3] = 0;
        }
    }
    return place;
}

/* The initial counter and key of a seed of two integers. */
GG_INLINE gg_place gg_of_seed(long long first, long long second) {
    const gg_place seed = {0x02461E293EC8F720ull, (gg_word)first, (gg_word)second};
    const gg_words drawn = gg_philox(seed, 0);
    const gg_word key = drawn.of[0] | (gg_word)drawn.of[1] << 32;
    return {key, 0, drawn.of[2] | (gg_word)drawn.of[3] << 32};
}

/* -- numbers in [0, 1): as many random bits as a mantissa has */

GG_INLINE float gg_unit(uint32_t word) {
    return __int_as_float((int)((word & 0x7fffffu) | 0x3f800000u)) - 1.0f;
}

GG_INLINE double gg_unit(uint32_t upper, uint32_t lower) {
    const gg_word bits = (gg_word)(upper & 0xfffffu) << 32 | lower;
    return __longlong_as_double((long long)(bits | 1023ull << 52)) - 1.0;
}
