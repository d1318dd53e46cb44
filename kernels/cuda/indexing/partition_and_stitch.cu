/* Partitions rows, and stitches rows of several lists. ITEM: an element's bits.

   variants: ITEM=uint8_t,uint32_t,uint64_t,uint4 */

#include "gpu_kernel.cuh"
#include "row_numbers.cuh"

#define GG_EACH(at, count) for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += (long long)gridDim.x * blockDim.x)

/* starts[part] = the number of the (ascending) keys below it, for each of `parts`. */
extern "C" __global__ void gg_part_starts(const uint32_t *keys, long long *starts, long long count, long long parts) {
    GG_EACH(part, parts) {
        long long low = 0, high = count;
        while (low < high) {
            const long long middle = low + (high - low) / 2;
            if (keys[middle] < part) low = middle + 1;
            else high = middle;
        }
        starts[part] = low;
    }
}

/* out = the rows at order[first], order[first + 1], ... */
extern "C" __global__ void gg_part_rows(const ITEM *x, const int32_t *order, ITEM *out, long long first, long long count, long long width) {
    GG_ROWS(at, count) {
        const long long row = order[first + at];
        GG_COLUMNS(column, width) out[at * width + column] = x[row * width + column];
    }
}

/* *largest = max(*largest, the largest index); *failed = 1 for a negative index. */
extern "C" __global__ void gg_stitch_size(const int32_t *indices, int *largest, int *failed, long long count) {
    int mine = -1;
    GG_EACH(at, count) {
        const int index = indices[at];
        if (index < 0) *failed = 1;
        if (index > mine) mine = index;
    }
    for (int mask = 16; mask; mask >>= 1) {
        const int other = gg_xor(mine, mask);
        if (other > mine) mine = other;
    }
    if ((threadIdx.x & 31) == 0) atomicMax(largest, mine);
}

/* For each row of the result, the last update that names it: the updates of this list are
   numbered from `base` on. */
extern "C" __global__ void gg_stitch_last(const int32_t *indices, int32_t *last, long long count, long long base) {
    GG_EACH(at, count)
        if (indices[at] >= 0) atomicMax(&last[indices[at]], (int32_t)(base + at));
}

/* Copies the rows of this list that are the last ones to name their target. */
extern "C" __global__ void gg_stitch_rows(const int32_t *indices, const int32_t *last, const ITEM *x, ITEM *out, long long count, long long base, long long width) {
    GG_ROWS(at, count) {
        const long long row = indices[at];
        if (row < 0 || last[row] != base + at) continue;
        GG_COLUMNS(column, width) out[row * width + column] = x[at * width + column];
    }
}

/* Writes 0 to the rows that no update names. */
extern "C" __global__ void gg_stitch_gaps(const int32_t *last, ITEM *out, long long rows, long long width) {
    GG_ROWS(row, rows) {
        if (last[row] >= 0) continue;
        GG_COLUMNS(column, width) out[row * width + column] = ITEM();
    }
}
