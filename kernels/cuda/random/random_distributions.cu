/* Tensors of random numbers, as gpugraph/ops/random/bits_to_distributions.py computes them on the
   host. A group is the numbers of one block of Philox (4, or 2 of 64 bits). LAW: the
   distribution; SEED: the dtype of the seeds of stateless ops; BITS: the mantissa bits of a dtype
   of 16 bits.

   variants: T=half,float,double LAW=gg_uniform,gg_normal,gg_truncated SEED=int32_t BITS=10
   variants: T=bfloat16 LAW=gg_uniform SEED=int64_t BITS=7
   variants: T=int32,int64 LAW=gg_integers SEED=int64_t BITS=0 */

#include "philox.cuh"

#define GG_EACH (sizeof(T_VALUE) == 8 ? 2 : 4)

/* -- distributions: `draw` returns the numbers of a group. low, span: for integers */

struct gg_uniform {
    long long low, span;
    __device__ __forceinline__ void draw(const gg_place &place, gg_word group, float *x) const {
        const gg_words w = gg_philox(place, group);
        for (int i = 0; i < 4; i++)
            x[i] = sizeof(T) == 2 ? (float)(w.of[i] % (1u << BITS)) / (1u << BITS) : gg_unit(w.of[i]);
    }
    __device__ __forceinline__ void draw(const gg_place &place, gg_word group, double *x) const {
        const gg_words w = gg_philox(place, group);
        x[0] = gg_unit(w.of[0], w.of[1]), x[1] = gg_unit(w.of[2], w.of[3]);
    }
};

struct gg_integers {
    long long low, span;
    __device__ __forceinline__ void draw(const gg_place &place, gg_word group, int32_t *x) const {
        const gg_words w = gg_philox(place, group);
        for (int i = 0; i < 4; i++) x[i] = (int32_t)((uint32_t)low + w.of[i] % (uint32_t)span);
    }
    __device__ __forceinline__ void draw(const gg_place &place, gg_word group, int64_t *x) const {
        const gg_words w = gg_philox(place, group);
        for (int i = 0; i < 2; i++) {
            const gg_word drawn = w.of[2 * i] | (gg_word)w.of[2 * i + 1] << 32;
            x[i] = (int64_t)((gg_word)low + drawn % (gg_word)span);
        }
    }
};

/* Two normal numbers from two in [0, 1) (Box and Muller): radius times sine and cosine. */
GG_INLINE void gg_pair(float u, float v, float *x) {
    const float turn = v * 6.2831855f; /* to the nearest float of 2 pi v, as by double precision */
    const float angle = turn + (fmaf(v, 6.2831855f, -turn) + v * -1.7484555e-7f);
    const float radius = sqrtf(-2.0f * logf(fmaxf(u, 1e-7f)));
    x[0] = sinf(angle) * radius, x[1] = cosf(angle) * radius;
}

GG_INLINE void gg_pair(double u, double v, double *x) {
    const double angle = 6.283185307179586 * v, radius = sqrt(-2 * log(fmax(u, 1e-7)));
    x[0] = sin(angle) * radius, x[1] = cos(angle) * radius;
}

/* The same with functions of double precision, rounded where the host rounds. */
GG_INLINE void gg_pair_with_care(float u, float v, float *x) {
    const double angle = (float)(6.283185307179586 * v);
    const float radius = sqrtf(-2.0f * (float)log((double)fmaxf(u, 1e-7f)));
    x[0] = (float)sin(angle) * radius, x[1] = (float)cos(angle) * radius;
}

struct gg_normal {
    long long low, span;
    __device__ __forceinline__ void draw(const gg_place &place, gg_word block, float *x) const {
        const gg_words w = gg_philox(place, block);
        gg_pair(gg_unit(w.of[0]), gg_unit(w.of[1]), x);
        gg_pair(gg_unit(w.of[2]), gg_unit(w.of[3]), x + 2);
    }
    __device__ __forceinline__ void draw(const gg_place &place, gg_word block, double *x) const {
        const gg_words w = gg_philox(place, block);
        gg_pair(gg_unit(w.of[0], w.of[1]), gg_unit(w.of[2], w.of[3]), x);
    }
};

/* Normal numbers within 2: a group has separate Philox blocks, and takes the first ones within 2.
   A number so close to 2 that rounding decides is computed as on the host: one number more or
   less would shift all that follow. */
struct gg_truncated {
    long long low, span;
    template <class X> __device__ __forceinline__ void draw(const gg_place &place, gg_word group, X *x) const {
        gg_word block = group * (64 * GG_EACH);
        int have = 0;
        while (have < GG_EACH) {
            X drawn[GG_EACH];
            block_of(place, block++, drawn);
            for (int i = 0; i < GG_EACH; i++) {
                if (!(fabs(drawn[i]) < (X)2)) continue;
                for (int at = 0; at < GG_EACH; at++)
                    if (at == have) x[at] = drawn[i];
                have++;
            }
        }
    }
    __device__ __forceinline__ void block_of(const gg_place &place, gg_word block, float *x) const {
        const gg_words w = gg_philox(place, block);
        for (int i = 0; i < 4; i += 2) {
            const float u = gg_unit(w.of[i]), v = gg_unit(w.of[i + 1]);
            gg_pair(u, v, x + i);
            if (close(x[i]) || close(x[i + 1])) gg_pair_with_care(u, v, x + i);
        }
    }
    __device__ __forceinline__ void block_of(const gg_place &place, gg_word block, double *x) const {
        gg_normal{0, 0}.draw(place, block, x);
    }
    __device__ __forceinline__ bool close(float x) const { return fabsf(fabsf(x) - 2.0f) < 1e-5f; }
};

/* -- tensors */

template <class Law> GG_INLINE void gg_fill(T *out, const gg_place &place, long long total, const Law &law) {
    typedef gg_pack<T, GG_EACH> pack;
    const long long groups = (total + GG_EACH - 1) / GG_EACH, stride = (long long)gridDim.x * blockDim.x;
    const bool aligned = (size_t)out % sizeof(pack) == 0;
    for (long long group = (long long)blockIdx.x * blockDim.x + threadIdx.x; group < groups; group += stride) {
        T_VALUE x[GG_EACH];
        law.draw(place, (gg_word)group, x);
        const long long first = group * GG_EACH;
        if (aligned && first + GG_EACH <= total) {
            pack made;
            for (int i = 0; i < GG_EACH; i++) made.of[i] = T_STORE(x[i]);
            *(pack *)(out + first) = made;
        } else {
            for (int i = 0; i < GG_EACH; i++)
                if (first + i < total) out[first + i] = T_STORE(x[i]);
        }
    }
}

/* The next `total` numbers of a stream, which advances by `blocks`. */
extern "C" __global__ void gg_random(T *out, unsigned long long *stream, long long total, long long blocks, long long low, long long span) {
    const gg_place place = gg_taken(stream, (gg_word)blocks);
    gg_fill(out, place, total, LAW{low, span});
}

/* The numbers of a seed. */
extern "C" __global__ void gg_stateless(const SEED *seed, T *out, long long total, long long low, long long span) {
    gg_fill(out, gg_of_seed(seed[0], seed[1]), total, LAW{low, span});
}
