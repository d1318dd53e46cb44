/* The coordinates of the non-zero elements, row by row. PARTS: 2 if ELEMENT is the real and the
   imaginary part of complex numbers, else 1.

   variants: ELEMENT=bool,float16,float32,int64 PARTS=1
   variants: ELEMENT=float32,float64 PARTS=2 */

#include "gpu_kernel.cuh"
#include "stream_compaction.cuh"
#include "row_numbers.cuh"

GG_INLINE bool gg_is(const ELEMENT *x, long long at) {
    bool found = ELEMENT_LOAD(x[at * PARTS]) != (ELEMENT_VALUE)0;
    if (PARTS == 2) found |= ELEMENT_LOAD(x[at * PARTS + 1]) != (ELEMENT_VALUE)0;
    return found;
}

extern "C" __global__ void gg_where_counts(const ELEMENT *x, long long *starts, long long count) {
    gg_tile_count(starts, count, [x](long long at) { return gg_is(x, at); });
}

/* out: a row of `depth` coordinates for each. */
extern "C" __global__ void gg_where(const ELEMENT *x, const long long *starts, long long *out, long long count, long long depth, GG_SIZES) {
    GG_TAKE_SIZES
    auto chosen = [x](long long at) { return gg_is(x, at); };
    gg_tile_each(starts, count, chosen, [&](long long at, long long place, bool is) {
        if (!is) return;
        long long *row = out + place * depth;
#pragma unroll
        for (int axis = 7; axis >= 0; axis--) {
            if (axis >= depth) continue;
            const long long whole = at / size[axis];
            row[axis] = at - whole * size[axis];
            at = whole;
        }
    });
}
