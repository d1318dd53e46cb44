/* Optimizers' updates of some rows of a variable and of its slots, those of one row in their order
   (row_update_order.cu). UPDATE: statements that read `v0` ... (the VARIABLES variables), `g` (the
   gradient) and the scalars `s0` ..., and change v0 ... . T and U are the types of the
   computation.

   variants: ELEMENT=float32,float16,float64 */

#include "gpu_kernel.cuh"
#include "row_numbers.cuh"

#ifndef VARIABLES
#define VARIABLES 1
#endif
#ifndef UPDATE
#define UPDATE v0 = (U)(v0 - g * ELEMENT_LOAD(*(const ELEMENT *)s0));
#endif

extern "C" __global__ void gg_update(ELEMENT *var0, ELEMENT *var1, ELEMENT *var2, ELEMENT *var3, const ELEMENT *grads, const void *s0, const void *s1, const void *s2, const void *s3, const void *s4, const uint32_t *keys, const int32_t *order, long long count, long long width, long long rows) {
    typedef ELEMENT_VALUE T;
    typedef T U;
    GG_ROWS(at, count) {
        const uint32_t row = keys[at];
        if (row >= rows || (at > 0 && keys[at - 1] == row)) continue;
        GG_COLUMNS(column, width) {
            const long long place = row * width + column;
            T v0 = ELEMENT_LOAD(var0[place]);
            T v1 = VARIABLES > 1 ? (T)ELEMENT_LOAD(var1[place]) : (T)0;
            T v2 = VARIABLES > 2 ? (T)ELEMENT_LOAD(var2[place]) : (T)0;
            T v3 = VARIABLES > 3 ? (T)ELEMENT_LOAD(var3[place]) : (T)0;
            for (long long next = at; next < count && keys[next] == row; next++) {
                const T g = ELEMENT_LOAD(grads[order[next] * width + column]);
                UPDATE
            }
            var0[place] = ELEMENT_STORE(v0);
            if (VARIABLES > 1) var1[place] = ELEMENT_STORE(v1);
            if (VARIABLES > 2) var2[place] = ELEMENT_STORE(v2);
            if (VARIABLES > 3) var3[place] = ELEMENT_STORE(v3);
        }
    }
}
