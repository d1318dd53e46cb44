/* Tiles of 64 rows in shared memory and their products, by 16 x 16 threads that have 4 x 4 elements
   each: of attention.cu and attention_gradient.cu. Macro T: the type of the elements. */

#pragma once

#include "gpu_kernel.cuh"

#define GG_TILE 64
#define GG_STEP 32
#define GG_ROW (GG_TILE + 4)

GG_INLINE float gg_sum(float x, float y) { return x + y; }

/* Reductions over the 16 threads of a row. */
template <float (*Two)(float, float)> GG_INLINE float gg_along(float x) {
    for (int mask = 8; mask; mask >>= 1) x = Two(x, gg_xor(x, mask));
    return x;
}

/* to[column * GG_ROW + row]: 64 rows of `columns` columns, filled up with 0. */
GG_INLINE void gg_turned(const T *from, float *to, int columns, int rows_left, int columns_left, int row, int column) {
    for (int at = threadIdx.x; at < GG_TILE * columns; at += 256) {
        const int i = column == 1 ? at / columns : at % GG_TILE;
        const int l = column == 1 ? at % columns : at / GG_TILE;
        const bool in = i < rows_left && l < columns_left;
        to[l * GG_ROW + i] = in ? (float)T_LOAD(from[i * row + l * column]) : 0.0f;
    }
}

/* sums[i][4 * part + j] += over l: a[l][i] * b[l][64 * part + j], for rows of `width` of b. */
template <int Parts> GG_INLINE void gg_multiply(const float *a, const float *b, int width, float (&sums)[4][4 * Parts]) {
    typedef gg_pack<float, 4> four;
#pragma unroll 4
    for (int l = 0; l < GG_STEP; l++) {
        const four left = *(const four *)(a + l * GG_ROW);
#pragma unroll
        for (int part = 0; part < Parts; part++) {
            const four right = *(const four *)(b + l * width + 64 * part);
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sums[i][4 * part + j] += left.of[i] * right.of[j];
        }
    }
}
