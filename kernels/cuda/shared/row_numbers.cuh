/* Numbers of rows of a matrix, also from coordinates in a block of rows: the common part of
   kernels over rows. Blocks are columns x rows. */

#pragma once

#define GG_ROWS(at, count) \
    for (long long at = (long long)blockIdx.x * blockDim.y + threadIdx.y; at < count; at += (long long)gridDim.x * blockDim.y)
#define GG_COLUMNS(at, count) \
    for (long long at = (long long)blockIdx.y * blockDim.x + threadIdx.x; at < count; at += (long long)gridDim.y * blockDim.x)
#define GG_SIZES long long size0, long long size1, long long size2, long long size3, long long size4, long long size5, long long size6, long long size7
#define GG_TAKE_SIZES const long long size[8] = {size0, size1, size2, size3, size4, size5, size6, size7};

/* The number of the row at these coordinates; -1 if one is negative, -2 if one is too large. */
template <class I> GG_INLINE long long gg_row(const I *where, const long long *size, int depth) {
    long long row = 0;
    bool below = false, above = false;
#pragma unroll
    for (int axis = 0; axis < 8; axis++) {
        if (axis >= depth) break;
        const long long at = where[axis];
        below |= at < 0;
        above |= at >= size[axis];
        row = row * size[axis] + at;
    }
    return above ? -2 : below ? -1 : row;
}
