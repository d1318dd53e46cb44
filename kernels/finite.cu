/* Elements passed on; of an infinite one *infinite = 1, of a NaN *nan = 1.

   variants: ELEMENT=float32,float16,float64 */

#include "gpu_kernel.cuh"

extern "C" __global__ void gg_finite(const ELEMENT *x, ELEMENT *out, int *infinite, int *nan, long long count) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        const ELEMENT element = x[at];
        const ELEMENT_VALUE value = ELEMENT_LOAD(element);
        if (value != value) *nan = 1;
        else if (value - value != 0) *infinite = 1;
        if (x != out) out[at] = element;
    }
}
