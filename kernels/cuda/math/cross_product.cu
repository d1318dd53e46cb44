/* Cross products of `count` vectors of 3 elements.

   variants: ELEMENT=float32,float16,float64,int8,int64 */

#include "gpu_kernel.cuh"

extern "C" __global__ void gg_cross(const ELEMENT *a, const ELEMENT *b, ELEMENT *out, long long count) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        ELEMENT_VALUE x[3], y[3];
        for (int i = 0; i < 3; i++) x[i] = ELEMENT_LOAD(a[at * 3 + i]), y[i] = ELEMENT_LOAD(b[at * 3 + i]);
        for (int i = 0; i < 3; i++) {
            const int j = i == 2 ? 0 : i + 1, k = i == 0 ? 2 : i - 1;
            out[at * 3 + i] = ELEMENT_STORE((ELEMENT_VALUE)(x[j] * y[k] - x[k] * y[j]));
        }
    }
}
