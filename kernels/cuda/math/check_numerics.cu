/* Copies numbers, and sets error flags for those that are not finite.

   variants: T=half,bfloat16,float,double */

#include "gpu_kernel.cuh"

/* Sets the flag for infinities, for NaNs, or for both. A thread that sets one of the first two reads
   the other afterwards: the later thread sees both. */
extern "C" __global__ void gg_check(const T *given, T *out, int *both, int *infinite, int *nan, long long total) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    bool has_infinite = false, has_nan = false;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += stride) {
        const T item = given[at];
        const T_VALUE x = T_LOAD(item);
        has_nan = has_nan || isnan(x);
        has_infinite = has_infinite || isinf(x);
        if (given != out) out[at] = item;
    }
    if (!has_infinite && !has_nan) return;
    if (has_infinite) *(volatile int *)infinite = 1;
    if (has_nan) *(volatile int *)nan = 1;
    __threadfence_system();
    if (*(volatile int *)infinite && *(volatile int *)nan) *(volatile int *)both = 1;
}
