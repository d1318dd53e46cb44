/* Sorts updates of the rows of a matrix: `order` has the updates in the order of their rows
   (stably), and `keys` the rows' numbers in that order. An update to be dropped has the number
   `rows` and comes last. More than 4096 are sorted by radix_sort.cu.

   variants: INDEX=int32_t,int64_t */

#include "gpu_kernel.cuh"
#include "row_numbers.cuh"
#define KEY uint32_t
#include "block_sort.cuh"

/* drops: 1 to drop negative numbers silently, 2 too large ones, 3 both. For others out of range,
   *failed = 1. */
GG_INLINE uint32_t gg_key(const INDEX *where, int *failed, const long long *size, long long depth, long long rows, long long drops) {
    const long long row = gg_row(where, size, (int)depth);
    if (row >= 0) return (uint32_t)row;
    if (!(drops & (row == -2 ? 2 : 1))) *failed = 1;
    return (uint32_t)rows;
}

extern "C" __global__ void gg_row_keys(const INDEX *indices, uint32_t *keys, int32_t *order, int *failed, long long count, long long rows, long long drops, long long depth, GG_SIZES) {
    GG_TAKE_SIZES
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        keys[at] = gg_key(indices + at * depth, failed, size, depth, rows, drops);
        order[at] = (int32_t)at;
    }
}

/* The same with the sorting, for up to 4096: one block. */
extern "C" __global__ void __launch_bounds__(512) gg_order_few(const INDEX *indices, uint32_t *keys, int32_t *order, int *failed, long long count, long long rows, long long drops, long long depth, GG_SIZES) {
    __shared__ uint32_t key[4096];
    __shared__ int32_t number[4096];
    GG_TAKE_SIZES
    int padded = 2;
    while (padded < count) padded <<= 1;
    for (int at = threadIdx.x; at < padded; at += blockDim.x) {
        key[at] = at < count ? gg_key(indices + at * depth, failed, size, depth, rows, drops) : 0xffffffffu;
        number[at] = at;
    }
    gg_sort_shared(key, number, padded);
    for (int at = threadIdx.x; at < count; at += blockDim.x) {
        keys[at] = key[at];
        order[at] = number[at];
    }
}
