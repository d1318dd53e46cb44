/* Copies of strided arrays, GG_RANK axes of elements of type ITEM, and fills. Strides are in
   elements. Sizes are ordered so that the target's smallest stride is that of the last axis.

   variants: ITEM=uint8_t,uint16_t,uint32_t,uint64_t,uint4 GG_RANK=1,3,8 */

#include "gpu_kernel.cuh"

#define GG_EACH_8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

struct gg_axes {
    long long size[8], from[8], to[8];
};

/* The offsets of element `at` in the source and the target. */
GG_INLINE void gg_place(const gg_axes &axes, long long at, long long &from, long long &to) {
    from = to = 0;
#pragma unroll
    for (int axis = GG_RANK - 1; axis >= 0; axis--) {
        long long index;
        if (axis == 0) {
            index = at;
        } else if (at < (1ll << 31) && axes.size[axis] < (1ll << 31)) { /* a fast division */
            index = (uint32_t)at % (uint32_t)axes.size[axis];
            at = (uint32_t)at / (uint32_t)axes.size[axis];
        } else {
            index = at % axes.size[axis];
            at /= axes.size[axis];
        }
        from += index * axes.from[axis];
        to += index * axes.to[axis];
    }
}

#define GG_AXIS(n) long long size##n, long long from##n, long long to##n,
#define GG_TAKE(n) axes.size[n] = size##n, axes.from[n] = from##n, axes.to[n] = to##n;

/* target[...] = source[...] */
extern "C" __global__ void gg_copy(const ITEM *source, ITEM *target, long long count, long long size0, long long from0, long long to0, long long size1, long long from1, long long to1, long long size2, long long from2, long long to2, long long size3, long long from3, long long to3, long long size4, long long from4, long long to4, long long size5, long long from5, long long to5, long long size6, long long from6, long long to6, long long size7, long long from7, long long to7) {
    gg_axes axes;
    GG_EACH_8(GG_TAKE)
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        long long from, to;
        gg_place(axes, at, from, to);
        target[to] = source[from];
    }
}

/* Transposes matrices whose source is contiguous along `rows` and whose target along `columns`,
   by tiles of 32 x 32 through shared memory; blockIdx.z counts the two outer axes. Blocks have 32
   x 8 threads. */
extern "C" __global__ void gg_turn(const ITEM *source, ITEM *target, long long rows, long long columns, long long from_column, long long to_row, long long outer1, long long from0, long long to0, long long from1, long long to1) {
    __shared__ ITEM tile[32][33];
    const long long outside = blockIdx.z;
    source += outside / outer1 * from0 + outside % outer1 * from1;
    target += outside / outer1 * to0 + outside % outer1 * to1;
    const long long row0 = (long long)blockIdx.x * 32, column0 = (long long)blockIdx.y * 32;
    for (int turn = threadIdx.y; turn < 32; turn += 8) {
        const long long column = column0 + turn, row = row0 + threadIdx.x;
        if (column < columns && row < rows) tile[turn][threadIdx.x] = source[column * from_column + row];
    }
    __syncthreads();
    for (int turn = threadIdx.y; turn < 32; turn += 8) {
        const long long row = row0 + turn, column = column0 + threadIdx.x;
        if (column < columns && row < rows) target[row * to_row + column] = tile[threadIdx.x][turn];
    }
}

/* target[...] = value, whose bytes are in `low`, with the upper half of 16 bytes in `high`. */
extern "C" __global__ void gg_fill(ITEM *target, long long low, long long high, long long count, long long size0, long long to0, long long size1, long long to1, long long size2, long long to2, long long size3, long long to3, long long size4, long long to4, long long size5, long long to5, long long size6, long long to6, long long size7, long long to7) {
    gg_axes axes;
    const long long from0 = 0, from1 = 0, from2 = 0, from3 = 0, from4 = 0, from5 = 0, from6 = 0, from7 = 0;
    GG_EACH_8(GG_TAKE)
    union {
        long long given[2];
        ITEM item;
    } value;
    value.given[0] = low;
    value.given[1] = high;
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        long long from, to;
        gg_place(axes, at, from, to);
        target[to] = value.item;
    }
}
