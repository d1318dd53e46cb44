/* Complex numbers, stored as two parts of type PART.

   variants: PART=float
   variants: PART=double */

#include "gpu_kernel.cuh"

typedef gg_pack<PART, 2> gg_complex;

GG_INLINE float gg_length(float x, float y) { return hypotf(x, y); }
GG_INLINE double gg_length(double x, double y) { return hypot(x, y); }
GG_INLINE float gg_direction(float x, float y) { return atan2f(y, x); }
GG_INLINE double gg_direction(double x, double y) { return atan2(y, x); }

#define GG_EACH(element)                                                                   \
    const long long stride = (long long)gridDim.x * blockDim.x;                                     \
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += stride) { \
        const gg_complex x = given[at];                                                             \
        out[at] = element;                                                                          \
    }

extern "C" __global__ void gg_conj(const gg_complex *given, gg_complex *out, long long total) {
    GG_EACH((gg_complex{{x.of[0], -x.of[1]}}))
}

extern "C" __global__ void gg_abs(const gg_complex *given, PART *out, long long total) {
    GG_EACH(gg_length(x.of[0], x.of[1]))
}

extern "C" __global__ void gg_angle(const gg_complex *given, PART *out, long long total) {
    GG_EACH(gg_direction(x.of[0], x.of[1]))
}
