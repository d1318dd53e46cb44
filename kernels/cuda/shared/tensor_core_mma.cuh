/* Products by tensor cores, of float16 or bfloat16 (Brain), summed in float: a warp's instructions
   in PTX, emulated on the host by cuda_on_host_matrix.h. All 32 lanes have to reach a call.

   needs: sm_80

   The lanes' parts (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type"), g being
   lane / 4 and t lane % 4, two elements a word, the first of them in its lower half:

       a, 16 x 16   a[0]: row g, columns 2t, 2t + 1       a[1]: row g + 8, columns 2t, 2t + 1
                    a[2]: row g, columns 2t + 8, 2t + 9   a[3]: row g + 8, columns 2t + 8, 2t + 9
       b, 16 x 8    b0: rows 2t, 2t + 1 of column g       b1: rows 2t + 8, 2t + 9 of column g
       d, 16 x 8    d[0], d[1]: row g, columns 2t, 2t + 1
                    d[2], d[3]: row g + 8, columns 2t, 2t + 1 */

#pragma once

#include "gpu_kernel.cuh"

#define GG_APART 8 /* elements between the rows of a tile: eight of them then lie in other banks */

#ifdef GPUGRAPH_ON_HOST /* errors name the line of the caller */
#define GG_CALLER , GG_LINE
#define GG_CALLED , line
#else
#define GG_CALLER
#define GG_CALLED
GG_INLINE unsigned gg_shared_at(const void *at) { return (unsigned)__cvta_generic_to_shared(at); }
#endif

/* d += a @ b */
template <bool Brain> GG_INLINE void gg_mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1 GG_CALLER) {
#ifdef GPUGRAPH_ON_HOST
    gg_host::mma_16816<Brain ? gg_host::brain_value : gg_host::half_value>(d, a, b0, b1, line);
#else
#define GG_MMA(type) \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
    if (Brain) GG_MMA("bf16");
    else GG_MMA("f16");
#undef GG_MMA
#endif
}

/* Four matrices of 8 x 8 elements from shared memory: to[i] gets row g, columns 2t and 2t + 1 of
   matrix i; if Turned, column g, rows 2t and 2t + 1. Lane 8 i + r has the address of row r of
   matrix i, a multiple of 16 bytes. */
template <bool Turned> GG_INLINE void gg_matrices(unsigned (&to)[4], const uint16_t *row GG_CALLER) {
#ifdef GPUGRAPH_ON_HOST
    gg_host::ldmatrix_x4<Turned>(to, row, line);
#else
#define GG_LDMATRIX(how) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" how ".shared.b16 {%0, %1, %2, %3}, [%4];" \
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(gg_shared_at(row)) : "memory")
    if (Turned) GG_LDMATRIX(".trans");
    else GG_LDMATRIX("");
#undef GG_LDMATRIX
#endif
}

/* The row whose address a lane has, for the four quarters of a tile of 16 x 16 elements with the
   row stride Wide: the upper left one first, then the one below it, or beside it (Across). */
template <bool Across, int Wide> GG_INLINE int gg_quarters() {
    const int lane = threadIdx.x % 32, second = lane / 8 % 2 * 8, third = lane / 16 * 8;
    return Across ? (lane % 8 + third) * Wide + second : (lane % 8 + second) * Wide + third;
}

/* `a` of a tile; Turned: of a transposed tile. */
template <bool Turned, int Wide> GG_INLINE void gg_left(unsigned (&a)[4], const uint16_t *tile GG_CALLER) {
    gg_matrices<Turned>(a, tile + gg_quarters<Turned, Wide>() GG_CALLED);
}

/* b0 and b1 of the left half of a tile, then those of its right half; Columns: of a transposed
   tile. */
template <bool Columns, int Wide> GG_INLINE void gg_right(unsigned (&b)[4], const uint16_t *tile GG_CALLER) {
    gg_matrices<!Columns>(b, tile + gg_quarters<Columns, Wide>() GG_CALLED);
}

/* Two elements as a word of `a`. */
template <bool Brain> GG_INLINE unsigned gg_two(float first, float second) {
    unsigned word;
    if (Brain) {
        const __nv_bfloat162 two = __floats2bfloat162_rn(first, second);
        memcpy(&word, &two, 4);
    } else {
        const __half2 two = __floats2half2_rn(first, second);
        memcpy(&word, &two, 4);
    }
    return word;
}

/* Copies 8 elements to shared memory, at a multiple of 16 bytes, or writes zeros. They have
   arrived once this thread has waited, for other threads after a barrier. */
GG_INLINE void gg_copy(uint16_t *to, const uint16_t *from, bool there GG_CALLER) {
#ifdef GPUGRAPH_ON_HOST
    gg_host::copy_async(to, from, there ? 16 : 0, line);
#else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(gg_shared_at(to)), "l"(from), "r"(there ? 16 : 0) : "memory");
#endif
}

GG_INLINE void gg_wait_for_copies() {
#ifdef GPUGRAPH_ON_HOST
    gg_host::wait_copies();
#else
    asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}
