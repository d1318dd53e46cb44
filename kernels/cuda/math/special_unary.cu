/* Functions of special_functions.cuh of one number. CALL: the function.

   variants: T=half,bfloat16,float,double CALL=gg_lgamma,gg_digamma */

#include "gpu_kernel.cuh"
#include "special_functions.cuh"

extern "C" __global__ void gg_unary(const T *x, T *out, long long total) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += stride)
        out[at] = T_STORE((T_VALUE)CALL(T_LOAD(x[at])));
}
