/* Sorted rows of elements, by keys: bits that are compared as unsigned integers, BITS of them.
   FLOATS: the keys are those of floats whose infinity has the bits INFINITE, NaNs above all;
   SIGNED: those of signed integers; DESCENDING: the largest first. Of equal elements the first
   comes first.

       gg_sort_rows       rows of up to CAPACITY elements, in shared memory: a block for each row
       gg_select          the `count` first of longer rows, up to 1024: the last one's key is
                          found digit by digit; a block of 512 threads for each row
       gg_nth             that key's element
       gg_sort_keys       up to CAPACITY elements' keys, sorted, and numbers: one block
       gg_element_keys    for radix_sort.cu: all elements' keys and numbers, then the rows' numbers,
       gg_row_numbers     and then the first of each row
       gg_take

   variants: ELEMENT=float,int8_t,double CAPACITY=256,4096 */

#include "gpu_kernel.cuh"

#ifndef KEY
#define KEY uint64_t
#define BITS (8 * (int)sizeof(ELEMENT))
#define INFINITE 0x7f800000
#define FLOATS 1
#define SIGNED 0
#define DESCENDING 1
#endif

#include "block_sort.cuh"

#define GG_ALL ((KEY)(~(KEY)0) >> (8 * (int)sizeof(KEY) - BITS))

GG_INLINE KEY gg_key(ELEMENT element) {
    union {
        KEY bits;
        ELEMENT element;
    } given;
    given.bits = 0;
    given.element = element;
    KEY key = given.bits;
    const KEY sign = (KEY)1 << (BITS - 1);
    if (FLOATS) {
        const KEY size = key & (KEY)~sign;
        if (size > (KEY)INFINITE) key = GG_ALL;
        else if (size == 0) key = sign;
        else key = key & sign ? GG_ALL ^ key : key | sign;
    } else if (SIGNED) {
        key ^= sign;
    }
    return DESCENDING ? GG_ALL ^ key : key;
}

/* Writes `count` elements from the `first` of each row on, in order; if `places` is not the
   same address as `out`, their numbers too. */
extern "C" __global__ void __launch_bounds__(512) gg_sort_rows(const ELEMENT *x, ELEMENT *out, int32_t *places, long long rows, long long size, long long first, long long count) {
    __shared__ KEY keys[CAPACITY];
    __shared__ int32_t numbers[CAPACITY];
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        for (int at = threadIdx.x; at < CAPACITY; at += blockDim.x) {
            keys[at] = at < size ? gg_key(x[row * size + at]) : (KEY)~(KEY)0;
            numbers[at] = at;
        }
        gg_sort_shared(keys, numbers, CAPACITY);
        for (int at = threadIdx.x; at < count; at += blockDim.x) {
            const int32_t number = numbers[first + at];
            out[row * count + at] = x[row * size + number];
            if ((void *)places != (void *)out) places[row * count + at] = number;
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(512) gg_sort_keys(const ELEMENT *x, KEY *keys_out, int32_t *numbers_out, long long count) {
    __shared__ KEY keys[CAPACITY];
    __shared__ int32_t numbers[CAPACITY];
    int padded = 2;
    while (padded < count) padded <<= 1;
    for (int at = threadIdx.x; at < padded; at += blockDim.x) {
        keys[at] = at < count ? gg_key(x[at]) : (KEY)~(KEY)0;
        numbers[at] = at;
    }
    gg_sort_shared(keys, numbers, padded);
    for (int at = threadIdx.x; at < count; at += blockDim.x) {
        keys_out[at] = keys[at];
        numbers_out[at] = numbers[at];
    }
}

/* The key of the element of rank `rank`, and the number of keys that are less. */
GG_INLINE KEY gg_ranked(const ELEMENT *row, long long size, long long rank, long long &less) {
    __shared__ unsigned found[256];
    __shared__ int chosen;
    __shared__ unsigned before;
    KEY key = 0, known = 0;
    less = 0;
    for (int shift = BITS - 8; shift >= 0; shift -= 8) {
        for (int at = threadIdx.x; at < 256; at += blockDim.x) found[at] = 0;
        __syncthreads();
        for (long long at = threadIdx.x; at < size; at += blockDim.x) {
            const KEY mine = gg_key(row[at]);
            if ((mine & known) == key) atomicAdd(&found[(int)((mine >> shift) & 255)], 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned sum = 0;
            int digit = 0;
            while (sum + found[digit] <= rank - less) sum += found[digit++];
            chosen = digit;
            before = sum;
        }
        __syncthreads();
        key |= (KEY)chosen << shift;
        known |= (KEY)255 << shift;
        less += before;
        __syncthreads();
    }
    return key;
}

extern "C" __global__ void __launch_bounds__(512, 2) gg_nth(const ELEMENT *x, ELEMENT *out, long long rows, long long size, long long n) {
    __shared__ int place;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        long long less;
        const ELEMENT *from = x + row * size;
        const KEY key = gg_ranked(from, size, n, less);
        if (threadIdx.x == 0) place = 0x7fffffff;
        __syncthreads();
        for (long long at = threadIdx.x; at < size; at += blockDim.x)
            if (gg_key(from[at]) == key) atomicMin(&place, (int)at);
        __syncthreads();
        if (threadIdx.x == 0) out[row] = from[place];
        __syncthreads();
    }
}

#define GG_CHOSEN (CAPACITY < 1024 ? CAPACITY : 1024)

extern "C" __global__ void __launch_bounds__(512) gg_select(const ELEMENT *x, ELEMENT *out, int32_t *places, long long rows, long long size, long long count) {
    __shared__ KEY keys[GG_CHOSEN];
    __shared__ int32_t numbers[GG_CHOSEN];
    __shared__ int taken, of_warp[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        long long less;
        const ELEMENT *from = x + row * size;
        const KEY last = gg_ranked(from, size, count - 1, less);
        for (int at = threadIdx.x; at < GG_CHOSEN; at += blockDim.x) {
            keys[at] = (KEY)~(KEY)0;
            numbers[at] = 0x7fffffff;
        }
        if (threadIdx.x == 0) taken = 0;
        __syncthreads();
        long long equal = less; /* where the next one that equals the last goes */
        for (long long base = 0; base < size; base += blockDim.x) {
            const long long at = base + threadIdx.x;
            const KEY key = at < size ? gg_key(from[at]) : (KEY)~(KEY)0;
            if (at < size && key < last) {
                const int to = atomicAdd(&taken, 1);
                keys[to] = key;
                numbers[to] = (int32_t)at;
            }
            const bool same = at < size && key == last;
            if (!__syncthreads_or(same && equal < count)) continue;
            const unsigned votes = __ballot_sync(GG_FULL, same);
            if (lane == 0) of_warp[warp] = __popc(votes);
            __syncthreads();
            int before = __popc(votes & ((1u << lane) - 1)), all = 0;
            for (int other = 0; other < warps; other++) {
                if (other < warp) before += of_warp[other];
                all += of_warp[other];
            }
            if (same && equal + before < count) {
                keys[equal + before] = key;
                numbers[equal + before] = (int32_t)at;
            }
            equal += all;
            __syncthreads();
        }
        gg_sort_shared(keys, numbers, GG_CHOSEN);
        for (int at = threadIdx.x; at < count; at += blockDim.x) {
            out[row * count + at] = from[numbers[at]];
            places[row * count + at] = numbers[at];
        }
        __syncthreads();
    }
}

#define GG_EACH(at, count) for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += (long long)gridDim.x * blockDim.x)

extern "C" __global__ void gg_element_keys(const ELEMENT *x, KEY *keys, int32_t *numbers, long long count) {
    GG_EACH(at, count) {
        keys[at] = gg_key(x[at]);
        numbers[at] = (int32_t)at;
    }
}

extern "C" __global__ void gg_row_numbers(const int32_t *numbers, uint32_t *keys, long long count, long long size) {
    GG_EACH(at, count) keys[at] = (uint32_t)numbers[at] / (uint32_t)size;
}

extern "C" __global__ void gg_take(const ELEMENT *x, const int32_t *numbers, ELEMENT *out, int32_t *places, long long rows, long long size, long long first, long long count) {
    GG_EACH(at, rows * count) {
        const long long row = at / count;
        const int32_t number = numbers[row * size + first + (at - row * count)];
        out[at] = x[number];
        if ((void *)places != (void *)out) places[at] = (int32_t)(number - row * size);
    }
}
