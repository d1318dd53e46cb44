/* The number of the ascending BOUNDARIES that are at most the element.

   variants: ELEMENT=float32,float64,int32,int64 */

#include "gpu_kernel.cuh"

#ifndef BOUNDARIES
#define BOUNDARIES 0.0f, 1.0f
#endif

static __device__ const float gg_boundaries[] = {BOUNDARIES};

extern "C" __global__ void gg_bucketize(const ELEMENT *x, int32_t *out, long long total, long long count) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += stride) {
        const double value = (double)ELEMENT_LOAD(x[at]);
        int low = 0, high = (int)count;
        while (low < high) {
            const int middle = (low + high) >> 1;
            if (value != value || (double)gg_boundaries[middle] <= value) low = middle + 1;
            else high = middle;
        }
        out[at] = low;
    }
}
