/* Functions of special_functions.cuh of two numbers. CALL: the function.

   variants: T=float,double CALL=gg_zeta,gg_polygamma,gg_next */

#include "gpu_kernel.cuh"
#include "special_functions.cuh"

GG_INLINE float gg_next(float x, float y) { return nextafterf(x, y); }
GG_INLINE double gg_next(double x, double y) { return nextafter(x, y); }

/* Over four axes, of which the last three have n1, n2, n3 elements; x and y have a stride along
   each. */
extern "C" __global__ void gg_binary(const T *x, const T *y, T *out, long long total, long long n1, long long n2, long long n3, long long x0, long long x1, long long x2, long long x3, long long y0, long long y1, long long y2, long long y3) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += stride) {
        const long long b = at / n3, i3 = at - b * n3, a = b / n2, i2 = b - a * n2, i0 = a / n1, i1 = a - i0 * n1;
        const T_VALUE left = T_LOAD(x[i0 * x0 + i1 * x1 + i2 * x2 + i3 * x3]);
        const T_VALUE right = T_LOAD(y[i0 * y0 + i1 * y1 + i2 * y2 + i3 * y3]);
        out[at] = T_STORE((T_VALUE)CALL(left, right));
    }
}
