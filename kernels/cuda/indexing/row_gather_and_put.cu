/* Gathers rows by coordinates, or puts rows by their numbers: bits are only moved.
   Blocks are columns x rows; if all updates are one number, `step` is 0, else 1.

   variants: ITEM=uint8_t,uint32_t,uint64_t,uint4 INDEX=int32_t,int64_t */

#include "gpu_kernel.cuh"
#include "row_numbers.cuh"

extern "C" __global__ void gg_gather_nd(const ITEM *params, const INDEX *indices, ITEM *out, int *failed, long long count, long long width, long long depth, GG_SIZES) {
    GG_TAKE_SIZES
    GG_ROWS(at, count) {
        const long long row = gg_row(indices + at * depth, size, (int)depth);
        if (row < 0) *failed = 1;
        GG_COLUMNS(column, width) out[at * width + column] = row < 0 ? ITEM() : params[row * width + column];
    }
}

extern "C" __global__ void gg_fill(ITEM *out, long long bits, long long count) {
    union {
        long long given;
        ITEM item;
    } value;
    value.given = bits;
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) out[at] = value.item;
}

extern "C" __global__ void gg_copy(const ITEM *source, ITEM *out, long long count) {
    if (source == out) return;
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) out[at] = source[at];
}

/* The last update of each row. */
extern "C" __global__ void gg_put(ITEM *target, const ITEM *changes, const uint32_t *keys, const int32_t *order, long long count, long long width, long long rows, long long step) {
    GG_ROWS(at, count) {
        const uint32_t row = keys[at];
        if (row >= rows || (at + 1 < count && keys[at + 1] == row)) continue;
        const long long change = order[at] * step;
        GG_COLUMNS(column, width) target[row * width + column] = changes[change * width + column * step];
    }
}

/* out[...] = *value */
extern "C" __global__ void gg_spread(const ITEM *value, ITEM *out, long long count) {
    const ITEM item = *value;
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) out[at] = item;
}

/* *failed = 1 unless the updates, sorted by their rows, are in that order and name each row once. */
extern "C" __global__ void gg_in_order(const uint32_t *keys, const int32_t *order, int *failed, long long count) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride)
        if (order[at] != at || (at > 0 && keys[at] == keys[at - 1])) *failed = 1;
}
