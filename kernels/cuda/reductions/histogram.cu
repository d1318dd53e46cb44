/* The counts of numbers 0 ... bins - 1, and of values in the parts of a range: first in the
   shared memory of each block, if there is room. OUTPUT: the dtype of the counts.

   variants: ELEMENT=float32,float64,int32,int64 OUTPUT=float32,int64 */

#include "gpu_kernel.cuh"

#define GG_ROOM 4096
#define GG_EACH(at, count) for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += (long long)gridDim.x * blockDim.x)

GG_INLINE void gg_begin(uint32_t *mine, long long bins) {
    if (bins > GG_ROOM) return;
    for (int at = threadIdx.x; at < bins; at += blockDim.x) mine[at] = 0;
    __syncthreads();
}

GG_INLINE void gg_end(const uint32_t *mine, uint32_t *counts, long long bins) {
    if (bins > GG_ROOM) return;
    __syncthreads();
    for (int at = threadIdx.x; at < bins; at += blockDim.x)
        if (mine[at]) atomicAdd(&counts[at], mine[at]);
}

/* Numbers from `bins` on are dropped, and so are negative ones, with *failed = 1. */
extern "C" __global__ void gg_bincount(const ELEMENT *x, uint32_t *counts, int *failed, long long count, long long bins) {
    __shared__ uint32_t mine[GG_ROOM];
    uint32_t *into = bins > GG_ROOM ? counts : mine;
    gg_begin(mine, bins);
    GG_EACH(at, count) {
        const long long bin = (long long)ELEMENT_LOAD(x[at]);
        if (bin < 0) *failed = 1;
        else if (bin < bins) atomicAdd(&into[bin], 1u);
    }
    gg_end(mine, counts, bins);
}

/* *failed = 1 for an empty range. */
extern "C" __global__ void gg_histogram(const ELEMENT *x, const ELEMENT *range, uint32_t *counts, int *failed, long long count, long long bins) {
    __shared__ uint32_t mine[GG_ROOM];
    uint32_t *into = bins > GG_ROOM ? counts : mine;
    gg_begin(mine, bins);
    const double low = (double)ELEMENT_LOAD(range[0]), high = (double)ELEMENT_LOAD(range[1]);
    const double step = (high - low) / (double)bins;
    if (!(low < high)) *failed = 1;
    GG_EACH(at, count) {
        const double place = floor(((double)ELEMENT_LOAD(x[at]) - low) / step);
        const long long bin = !(place > 0) ? 0 : place >= (double)bins ? bins - 1 : (long long)place;
        atomicAdd(&into[bin], 1u);
    }
    gg_end(mine, counts, bins);
}

extern "C" __global__ void gg_counted(const uint32_t *counts, OUTPUT *out, long long bins) {
    GG_EACH(at, bins) out[at] = OUTPUT_STORE((OUTPUT_VALUE)counts[at]);
}
