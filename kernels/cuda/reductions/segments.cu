/* Rows by segments with ascending numbers: the inputs of scatter_combine.cu, which combines them,
   and the last operations on sums. IDS: the type of segments' numbers, INDEX: of rows' numbers;
   SUM: of sums.

   variants: ELEMENT=float32,float16,int8,int64 SUM=float32 IDS=int32_t,int64_t INDEX=int32_t
   variants: ELEMENT=bfloat16,float64 SUM=float64 IDS=int32_t INDEX=int64_t */

#include "gpu_kernel.cuh"
#include "row_numbers.cuh"

#ifndef DIVIDED
#define DIVIDED(a, n) ((a) / (n))
#define WEIGHT(n) (1.0 / (n))
#endif
#define GG_EACH(at, count) for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += (long long)gridDim.x * blockDim.x)

/* keys: the numbers of segments; order: rows[at] if `by` is 1, else `at` itself; *segments: the
   last number + 1. *falls = 1 if numbers descend or are negative, *outside = 1 if a row is not in
   [0, `size`). If `most` is not negative, *above = 1 for a number that is not below it, which is
   then not in keys. */
extern "C" __global__ void gg_segment_keys(const IDS *ids, const INDEX *rows, uint32_t *keys, int32_t *order, long long *segments, int *falls, int *above, int *outside, long long count, long long most, long long size, long long by) {
    GG_EACH(at, count) {
        const long long id = ids[at];
        if (id < 0 || (at > 0 && ids[at - 1] > ids[at])) *falls = 1;
        const bool high = most >= 0 && id >= most;
        if (high) *above = 1;
        keys[at] = (uint32_t)(most >= 0 && (high || id < 0) ? most : id);
        long long row = by ? (long long)rows[at] : at;
        if (row < 0 || row >= size) {
            *outside = 1;
            row = 0;
        }
        order[at] = (int32_t)row;
        if (at == count - 1) *segments = id + 1;
    }
}

/* The number of the (ascending) keys that are below one. */
GG_INLINE long long gg_below(const uint32_t *keys, long long count, long long key) {
    long long low = 0, high = count;
    while (low < high) {
        const long long middle = low + (high - low) / 2;
        if (keys[middle] < key) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* out = DIVIDED(sum, the number of rows of the segment), 0 if it has none. */
extern "C" __global__ void gg_segment_mean(const SUM *sums, ELEMENT *out, const uint32_t *keys, long long count, long long segments, long long width) {
    GG_ROWS(at, segments) {
        const long long n = gg_below(keys, count, at + 1) - gg_below(keys, count, at);
        GG_COLUMNS(column, width) {
            const SUM_VALUE sum = SUM_LOAD(sums[at * width + column]);
            out[at * width + column] = ELEMENT_STORE((ELEMENT_VALUE)(n ? DIVIDED(sum, n) : sum));
        }
    }
}

/* The number of rows of each segment, in any order; *outside = 1 for a number not in [0,
   segments). */
extern "C" __global__ void gg_segment_sizes(const IDS *ids, uint32_t *sizes, int *outside, long long count, long long segments) {
    GG_EACH(at, count) {
        const long long id = ids[at];
        if (id < 0 || id >= segments) *outside = 1;
        else atomicAdd(&sizes[id], 1u);
    }
}

/* Each row times WEIGHT(n) for the n rows of its segment. */
extern "C" __global__ void gg_segment_weighted(const ELEMENT *x, const uint32_t *sizes, SUM *out, long long segments, long long width) {
    GG_ROWS(at, segments) {
        const long long n = sizes[at] ? sizes[at] : 1;
        const SUM_VALUE weight = (SUM_VALUE)(WEIGHT(n));
        GG_COLUMNS(column, width) out[at * width + column] = SUM_STORE((SUM_VALUE)ELEMENT_LOAD(x[at * width + column]) * weight);
    }
}

/* The segments of updates in the updates' order; 0 for an invalid one. */
extern "C" __global__ void gg_segment_of(const int32_t *order, const IDS *ids, int32_t *out, long long count, long long segments) {
    GG_EACH(at, count) {
        const long long id = ids[order[at]];
        out[at] = (int32_t)(id < 0 || id >= segments ? 0 : id);
    }
}
