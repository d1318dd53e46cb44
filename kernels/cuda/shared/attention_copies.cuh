/* Tiles of rows in shared memory, copied by a block of 4 warps: of attention_mma.cu and
   attention_gradient_mma.cu. Macro T: half or bfloat16. */

#pragma once

#include "tensor_core_mma.cuh"

#define GG_THREADS 128
#define GG_TILE 64
#define GG_LOG2_E 1.4426950408889634f

GG_INLINE float gg_exp2(float x) {
#ifdef GPUGRAPH_ON_HOST
    return exp2f(x);
#else
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

/* Copies Rows x Columns elements to a tile, with zeros after the last row and column. In `from`
   rows have the stride `apart`; Packed: they begin at multiples of 16 bytes, and 8 elements are
   one copy. */
template <bool Packed, int Rows, int Columns> GG_INLINE void gg_fill(T *to, const T *from, int rows_left, int columns_left, long long apart) {
    constexpr int wide = Columns + GG_APART;
    if (Packed) {
#pragma unroll 2
        for (int at = threadIdx.x; at < Rows * Columns / 8; at += GG_THREADS) {
            const int i = at / (Columns / 8), j = at % (Columns / 8) * 8;
            const bool there = i < rows_left && j < columns_left;
            gg_copy(to + i * wide + j, there ? from + i * apart + j : from, there);
        }
    } else {
        for (int at = threadIdx.x; at < Rows * Columns; at += GG_THREADS) {
            const int i = at / Columns, j = at % Columns;
            to[i * wide + j] = i < rows_left && j < columns_left ? from[i * apart + j] : (T)0;
        }
    }
}
