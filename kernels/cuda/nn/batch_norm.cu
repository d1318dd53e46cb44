/* Batch normalization and its gradient. Images are `outer` x `channels` x `inner` elements of T:
   with channels last (GG_LAST), outer counts pixels and inner is 1, else outer counts images and
   inner pixels. Values per channel are U in memory; S is the type of the computation.

   Sums are divided into `parts` parts of `each` elements of a channel, whose results gg_norm_finish
   or gg_norm_back_finish merges in order. GG_PACK: elements of a load in elementwise loops.

   variants: T=float,half U=float S=float GG_LAST=0,1 PLACE=int32_t GG_PACK=4 GG_TRAINING=0,1
   variants: T=float,double U=double S=double GG_LAST=0,1 PLACE=int64_t GG_PACK=1 GG_TRAINING=1 */

#include "gpu_kernel.cuh"

typedef S_VALUE gg_real;
typedef gg_pack<T, GG_PACK> gg_items;

#define GG_EACH(at) PLACE at = (PLACE)blockIdx.x * blockDim.x + threadIdx.x; at < (PLACE)count; at += (PLACE)gridDim.x * blockDim.x

/* The number of values, their mean, and the sum of squared differences from it. */
struct gg_moments {
    gg_real n, mean, squares;
};

GG_INLINE gg_moments gg_merged(const gg_moments &a, const gg_moments &b) {
    if (b.n == 0) return a;
    if (a.n == 0) return b;
    const gg_real n = a.n + b.n, off = b.mean - a.mean, share = b.n / n;
    const gg_moments made = {n, a.mean + off * share, a.squares + b.squares + off * off * a.n * share};
    return made;
}

/* The reduction over the threads of one threadIdx.x in a block of 256: threadIdx.y 0 gets the
   result. */
GG_INLINE gg_moments gg_merge(gg_moments own) {
    __shared__ gg_moments all[256];
    const int width = blockDim.x, thread = threadIdx.x + width * threadIdx.y;
    all[thread] = own;
    __syncthreads();
    for (int half = blockDim.y >> 1; half; half >>= 1) {
        if (threadIdx.y < half) all[thread] = gg_merged(all[thread], all[thread + half * width]);
        __syncthreads();
    }
    return all[threadIdx.x];
}

GG_INLINE gg_real gg_add(gg_real a, gg_real b) { return a + b; }

/* The offset of element `at` of the channel. */
GG_INLINE PLACE gg_element(PLACE at, int channel, int channels, int inner) {
    if (GG_LAST) return at * channels + channel;
    if (sizeof(PLACE) == 4) {
        const uint32_t n = (uint32_t)at / (uint32_t)inner;
        return (n * channels + channel) * inner + ((uint32_t)at - n * inner);
    }
    const PLACE n = at / inner;
    return (n * channels + channel) * inner + (at - n * inner);
}

/* The channel of this thread; its first element, and the one after its last. blockIdx.x: a group
   of blockDim.x channels; blockIdx.y: the part. */
#define GG_OWN \
    const int channel = blockIdx.x * blockDim.x + threadIdx.x; \
    const PLACE first = (PLACE)blockIdx.y * (PLACE)each + threadIdx.y, total = (PLACE)outer * (PLACE)inner; \
    const PLACE end = (PLACE)blockIdx.y * (PLACE)each + (PLACE)each, stop = end < total ? end : total;

/* means[part, channel], squares[part, channel]. Each thread subtracts its first element from all, so
   that the squares, which are summed in the same pass, lose no precision. */
extern "C" __global__ void gg_norm_moments(const T *source, S *means, S *squares, long long outer, long long channels, long long inner, long long each) {
    GG_OWN
    gg_moments own = {0, 0, 0};
    if (channel < channels && first < stop) {
        const gg_real start = T_LOAD(source[gg_element(first, channel, (int)channels, (int)inner)]);
        gg_real sum = 0, squared = 0;
        int n = 0;
        for (PLACE at = first; at < stop; at += blockDim.y, n++) {
            const gg_real off = (gg_real)T_LOAD(source[gg_element(at, channel, (int)channels, (int)inner)]) - start;
            sum += off;
            squared += off * off;
        }
        const gg_real mean = sum / n;
        own.n = n;
        own.mean = start + mean;
        own.squares = squared - sum * mean;
        if (own.squares < 0) own.squares = 0;
    }
    own = gg_merge(own);
    if (threadIdx.y == 0 && channel < channels) {
        means[(PLACE)blockIdx.y * channels + channel] = own.mean;
        squares[(PLACE)blockIdx.y * channels + channel] = own.squares;
    }
}

/* The mean and variance of all parts of channel blockIdx.x, by 256 threads along y. */
extern "C" __global__ void gg_norm_finish(const S *means, const S *squares, const U *scale, U *batch_mean, U *batch_variance, U *mean, U *variance, S *factor, long long parts, long long each, long long total, double epsilon, long long channels) {
    const int channel = blockIdx.x;
    gg_moments own = {0, 0, 0};
    for (int part = threadIdx.y; part < parts; part += 256) {
        const long long left = total - part * each;
        const gg_moments next = {(gg_real)(left < each ? left : each), means[(PLACE)part * channels + channel], squares[(PLACE)part * channels + channel]};
        own = gg_merged(own, next);
    }
    own = gg_merge(own);
    if (threadIdx.y) return;
    const gg_real n = (gg_real)total, spread = own.squares / n;
    batch_mean[channel] = mean[channel] = U_STORE((U_VALUE)own.mean);
    variance[channel] = U_STORE((U_VALUE)spread);
    batch_variance[channel] = U_STORE((U_VALUE)(spread * (gg_real)((double)total / (double)(total > 2 ? total - 1 : 1))));
    factor[channel] = (gg_real)1 / sqrt(spread + (gg_real)epsilon) * (gg_real)U_LOAD(scale[channel]);
}

/* The same for a mean and a variance that are inputs. */
extern "C" __global__ void gg_norm_given(const U *given_mean, const U *given_variance, const U *scale, U *batch_mean, U *batch_variance, U *mean, U *variance, S *factor, long long count, double epsilon) {
    for (GG_EACH(channel)) {
        batch_mean[channel] = mean[channel] = given_mean[channel];
        batch_variance[channel] = variance[channel] = given_variance[channel];
        factor[channel] = (gg_real)1 / sqrt((gg_real)U_LOAD(given_variance[channel]) + (gg_real)epsilon) * (gg_real)U_LOAD(scale[channel]);
    }
}

GG_INLINE int gg_channel(PLACE at, int channels, int inner) {
    if (sizeof(PLACE) == 4) return (int)((GG_LAST ? (uint32_t)at : (uint32_t)at / (uint32_t)inner) % (uint32_t)channels);
    return (int)((GG_LAST ? at : at / inner) % channels);
}

GG_INLINE gg_items gg_taken(const T *from, bool aligned) {
    if (GG_PACK == 1 || aligned) return *(const gg_items *)from;
    gg_items made;
    for (int e = 0; e < GG_PACK; e++) made.of[e] = from[e];
    return made;
}

GG_INLINE void gg_put(T *to, const gg_items &made, bool aligned) {
    if (GG_PACK == 1 || aligned) {
        *(gg_items *)to = made;
    } else {
        for (int e = 0; e < GG_PACK; e++) to[e] = made.of[e];
    }
}

#define GG_ALIGNED(array) ((unsigned long long)(array) % sizeof(gg_items) == 0)

/* out = (source - mean) * factor + offset */
extern "C" __global__ void gg_normalize(const T *source, const U *mean, const S *factor, const U *offset, T *out, long long count, long long channels, long long inner) {
    const bool aligned = GG_ALIGNED(source), even = GG_ALIGNED(out);
    for (GG_EACH(pack)) {
        const PLACE at = pack * GG_PACK;
        const int channel = gg_channel(at, (int)channels, (int)inner);
        const gg_items seen = gg_taken(source + at, aligned);
        gg_items made;
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) {
            const int c = GG_LAST ? channel + e : channel;
            made.of[e] = T_STORE(((gg_real)T_LOAD(seen.of[e]) - (gg_real)U_LOAD(mean[c])) * factor[c] + (gg_real)U_LOAD(offset[c]));
        }
        gg_put(out + at, made, even);
    }
}

/* slopes[part, channel] = the sum of dy, products[part, channel] = that of dy * (source - mean). */
extern "C" __global__ void gg_norm_back_sums(const T *dy, const T *source, const U *mean, S *slopes, S *products, long long outer, long long channels, long long inner, long long each) {
    GG_OWN
    gg_real slope = 0, product = 0;
    if (channel < channels) {
        const gg_real middle = U_LOAD(mean[channel]);
        for (PLACE at = first; at < stop; at += blockDim.y) {
            const PLACE place = gg_element(at, channel, (int)channels, (int)inner);
            const gg_real d = T_LOAD(dy[place]);
            slope += d;
            product += d * ((gg_real)T_LOAD(source[place]) - middle);
        }
    }
    slope = gg_column<gg_real, gg_add>(slope);
    product = gg_column<gg_real, gg_add>(product);
    if (threadIdx.y == 0 && channel < channels) {
        slopes[(PLACE)blockIdx.y * channels + channel] = slope;
        products[(PLACE)blockIdx.y * channels + channel] = product;
    }
}

/* For channel blockIdx.x: the gradients of scale and offset, by 256 threads along y, and the
   terms of the elements' gradients: `factor`, `less`, which is subtracted, and `tilt`, the factor
   of source - mean. */
extern "C" __global__ void gg_norm_back_finish(const S *slopes, const S *products, const U *scale, const U *variance, U *dscale, U *doffset, S *factor, S *less, S *tilt, long long parts, long long total, double epsilon, long long channels) {
    const int channel = blockIdx.x;
    gg_real slope = 0, product = 0;
    for (int part = threadIdx.y; part < parts; part += 256) {
        slope += slopes[(PLACE)part * channels + channel];
        product += products[(PLACE)part * channels + channel];
    }
    slope = gg_column<gg_real, gg_add>(slope);
    product = gg_column<gg_real, gg_add>(product);
    if (threadIdx.y) return;
    const gg_real inverse = (gg_real)1 / sqrt((gg_real)U_LOAD(variance[channel]) + (gg_real)epsilon);
    const gg_real share = (gg_real)(1.0 / (double)total);
    product *= inverse;
    dscale[channel] = U_STORE((U_VALUE)product);
    doffset[channel] = U_STORE((U_VALUE)slope);
    factor[channel] = inverse * (gg_real)U_LOAD(scale[channel]);
    less[channel] = slope * share;
    tilt[channel] = product * inverse * share;
}

/* out = (dy - less - (source - mean) * tilt) * factor, or dy * factor if mean and variance are
   inputs. */
extern "C" __global__ void gg_norm_back(const T *dy, const T *source, const U *mean, const S *factor, const S *less, const S *tilt, T *out, long long count, long long channels, long long inner) {
    const bool aligned = GG_ALIGNED(source), level = GG_ALIGNED(dy), even = GG_ALIGNED(out);
    for (GG_EACH(pack)) {
        const PLACE at = pack * GG_PACK;
        const int channel = gg_channel(at, (int)channels, (int)inner);
        const gg_items slope = gg_taken(dy + at, level);
        gg_items seen = gg_items(), made;
        if (GG_TRAINING) seen = gg_taken(source + at, aligned);
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) {
            const int c = GG_LAST ? channel + e : channel;
            gg_real x = T_LOAD(slope.of[e]);
            if (GG_TRAINING) x = x - less[c] - ((gg_real)T_LOAD(seen.of[e]) - (gg_real)U_LOAD(mean[c])) * tilt[c];
            made.of[e] = T_STORE(x * factor[c]);
        }
        gg_put(out + at, made, even);
    }
}
