/* Local response normalization, of `rows` x `depth` elements, and its gradient:

       y = x / norm ** beta        norm = bias + alpha * (sum of x ** 2 of the nearby channels)

   variants: T=float,half,double PLACE=int32_t,int64_t */

#include "gpu_kernel.cuh"

typedef T_VALUE gg_real;

#define GG_EACH(at) PLACE at = (PLACE)blockIdx.x * blockDim.x + threadIdx.x; at < (PLACE)count; at += (PLACE)gridDim.x * blockDim.x

GG_INLINE int gg_channel(PLACE at, int depth) { return sizeof(PLACE) == 4 ? (int)((uint32_t)at % (uint32_t)depth) : (int)(at % depth); }

GG_INLINE gg_real gg_norm(const T *source, PLACE at, int depth, int radius, gg_real bias, gg_real alpha) {
    const int channel = gg_channel(at, depth);
    const int first = channel < radius ? -channel : -radius, last = channel + radius < depth ? radius : depth - 1 - channel;
    gg_real sum = 0;
    for (int off = first; off <= last; off++) {
        const gg_real x = T_LOAD(source[at + off]);
        sum += x * x;
    }
    return sum * alpha + bias;
}

extern "C" __global__ void gg_response(const T *source, T *out, long long count, long long depth, long long radius, double bias, double alpha, double beta) {
    for (GG_EACH(at)) {
        const gg_real norm = gg_norm(source, at, (int)depth, (int)radius, (gg_real)bias, (gg_real)alpha);
        out[at] = T_STORE((gg_real)T_LOAD(source[at]) * pow(norm, -(gg_real)beta));
    }
}

/* norms and shares = dy * y / norm, of each element. */
extern "C" __global__ void gg_response_shares(const T *dy, const T *source, const T *made, gg_real *norms, gg_real *shares, long long count, long long depth, long long radius, double bias, double alpha) {
    for (GG_EACH(at)) {
        const gg_real norm = gg_norm(source, at, (int)depth, (int)radius, (gg_real)bias, (gg_real)alpha);
        norms[at] = norm;
        shares[at] = (gg_real)T_LOAD(dy[at]) * (gg_real)T_LOAD(made[at]) / norm;
    }
}

/* out = dy * norm ** -beta - twice * x * (sum of the nearby shares) */
extern "C" __global__ void gg_response_back(const T *dy, const T *source, const gg_real *norms, const gg_real *shares, T *out, long long count, long long depth, long long radius, double beta, double twice) {
    for (GG_EACH(at)) {
        const int channel = gg_channel(at, (int)depth);
        const int first = channel < radius ? -channel : -(int)radius, last = channel + radius < depth ? (int)radius : (int)depth - 1 - channel;
        gg_real sum = 0;
        for (int off = first; off <= last; off++) sum += shares[at + off];
        out[at] = T_STORE((gg_real)T_LOAD(dy[at]) * pow(norms[at], -(gg_real)beta) - sum * (gg_real)T_LOAD(source[at]) * (gg_real)twice);
    }
}
