/* Elements gathered by position. ITEM: an element's bits (uint8_t ... uint4), INDEX: int32_t,
   int64_t.

   variants: ITEM=uint8_t,uint16_t,uint32_t,uint64_t,uint4 INDEX=int32_t,int64_t */

#include "gpu_kernel.cuh"

/* out[b, o, i, r] = params[b, o, indices[b, i], r] for `batch` x `outer` x `count` x `inner`
   elements; `size`: the number of positions. Out of range: 0, and *failed = 1. */
extern "C" __global__ void gg_gather(const ITEM *params, const INDEX *indices, ITEM *out, int *failed, long long total, long long outer, long long size, long long count, long long inner) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += stride) {
        const long long row = at / inner, r = at - row * inner;
        const long long whole = row / count, i = row - whole * count;
        const long long which = indices[whole / outer * count + i];
        if (which < 0 || which >= size) {
            *failed = 1;
            out[at] = ITEM();
        } else {
            out[at] = params[(whole * size + which) * inner + r];
        }
    }
}
