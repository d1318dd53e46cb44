/* Running sums, or products, along an axis: COMBINE(a, b), from START; x is [before, size,
   after]. `reverse`: from the end; `exclusive`: without the element itself.

   The axis may be split into `parts`: gg_part_* compute the total of each, gg_scan_* begin each
   part with the totals before it.

       *_rows      after is 1: a block of 256 threads for a part of a row, 4 elements per thread
       *_columns   a thread for a part of each column; blocks are columns x parts

   variants: ELEMENT=float32,float16,float64,int8,int64 */

#include "gpu_kernel.cuh"

#ifndef COMBINE
#define COMBINE(a, b) ((a) + (b))
#define START 0
#endif
#define GG_PARTS(at) for (long long at = (long long)blockIdx.x * blockDim.y + threadIdx.y; at < rows; at += (long long)gridDim.x * blockDim.y)
#define GG_COLUMNS(at) for (long long at = (long long)blockIdx.y * blockDim.x + threadIdx.x; at < after; at += (long long)gridDim.y * blockDim.x)

typedef ELEMENT_VALUE gg_value;

/* The combination of the values of the threads before this one, and of all (256 threads). */
GG_INLINE gg_value gg_before(gg_value mine, gg_value &all) {
    __shared__ gg_value of_warp[8];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    gg_value sum = mine;
    for (int by = 1; by < 32; by <<= 1) {
        const gg_value other = (gg_value)__shfl_up_sync(GG_FULL, sum, by);
        if (lane >= by) sum = COMBINE(other, sum);
    }
    if (lane == 31) of_warp[warp] = sum;
    const gg_value previous = (gg_value)__shfl_up_sync(GG_FULL, sum, 1);
    __syncthreads();
    gg_value before = (gg_value)START;
    all = (gg_value)START;
    for (int other = 0; other < 8; other++) {
        if (other < warp) before = COMBINE(before, of_warp[other]);
        all = COMBINE(all, of_warp[other]);
    }
    __syncthreads();
    return lane ? COMBINE(before, previous) : before;
}

GG_INLINE long long gg_place(long long at, long long size, long long reverse) { return reverse ? size - 1 - at : at; }

extern "C" __global__ void gg_part_rows(const ELEMENT *x, ELEMENT_VALUE *totals, long long rows, long long size, long long parts, long long part, long long reverse) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const long long whole = row / parts, first = (row - whole * parts) * part;
        const long long end = first + part < size ? first + part : size;
        const ELEMENT *from = x + whole * size;
        gg_value sum = (gg_value)START, all;
        for (long long at = first + threadIdx.x; at < end; at += 256) sum = COMBINE(sum, ELEMENT_LOAD(from[gg_place(at, size, reverse)]));
        gg_before(sum, all);
        if (threadIdx.x == 0) totals[row] = all;
    }
}

extern "C" __global__ void gg_scan_rows(const ELEMENT *x, const ELEMENT_VALUE *totals, ELEMENT *out, long long rows, long long size, long long parts, long long part, long long reverse, long long exclusive) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const long long whole = row / parts, number = row - whole * parts, first = number * part;
        const long long end = first + part < size ? first + part : size;
        const ELEMENT *from = x + whole * size;
        gg_value start = (gg_value)START, all;
        if (number) {
            gg_value sum = (gg_value)START;
            for (long long at = threadIdx.x; at < number; at += 256) sum = COMBINE(sum, totals[whole * parts + at]);
            gg_before(sum, start);
        }
        for (long long base = first; base < end; base += 1024) {
            const long long at = base + threadIdx.x * 4;
            gg_value mine[4], sum = (gg_value)START;
            for (int i = 0; i < 4; i++) {
                mine[i] = at + i < end ? (gg_value)ELEMENT_LOAD(from[gg_place(at + i, size, reverse)]) : (gg_value)START;
                sum = COMBINE(sum, mine[i]);
            }
            gg_value before = gg_before(sum, all);
            before = COMBINE(start, before);
            start = COMBINE(start, all);
            for (int i = 0; i < 4; i++) {
                const gg_value with = COMBINE(before, mine[i]);
                if (at + i < end) out[whole * size + gg_place(at + i, size, reverse)] = ELEMENT_STORE((exclusive ? before : with));
                before = with;
            }
        }
    }
}

extern "C" __global__ void gg_part_columns(const ELEMENT *x, ELEMENT_VALUE *totals, long long rows, long long size, long long after, long long parts, long long part, long long reverse) {
    GG_PARTS(row) {
        const long long whole = row / parts, first = (row - whole * parts) * part;
        const long long end = first + part < size ? first + part : size;
        GG_COLUMNS(column) {
            const ELEMENT *from = x + whole * size * after + column;
            gg_value sum = (gg_value)START;
            for (long long at = first; at < end; at++) sum = COMBINE(sum, ELEMENT_LOAD(from[gg_place(at, size, reverse) * after]));
            totals[row * after + column] = sum;
        }
    }
}

extern "C" __global__ void gg_scan_columns(const ELEMENT *x, const ELEMENT_VALUE *totals, ELEMENT *out, long long rows, long long size, long long after, long long parts, long long part, long long reverse, long long exclusive) {
    GG_PARTS(row) {
        const long long whole = row / parts, number = row - whole * parts, first = number * part;
        const long long end = first + part < size ? first + part : size;
        GG_COLUMNS(column) {
            const long long origin = whole * size * after + column;
            gg_value sum = (gg_value)START;
            for (long long at = 0; at < number; at++) sum = COMBINE(sum, totals[(whole * parts + at) * after + column]);
            for (long long at = first; at < end; at++) {
                const long long place = origin + gg_place(at, size, reverse) * after;
                const gg_value with = COMBINE(sum, ELEMENT_LOAD(x[place]));
                out[place] = ELEMENT_STORE((exclusive ? sum : with));
                sum = with;
            }
        }
    }
}
