/* The base of CUDA kernels of gpugraph: element types, packs of elements, reductions over the
   threads of a row or a block. Generated sources
   (gpugraph/devices/cuda/launching/cuda_kernel_source.py) and the families in this folder include
   it; on the host the C++ compiler does, through cuda_on_host.h. */

#pragma once

#if !defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include "cuda_on_host.h"
using std::isfinite;
using std::isinf;
using std::isnan;
/* C's library has only those of double; those of a float must be float's, as in CUDA. */
using std::ceil;
using std::exp;
using std::fabs;
using std::floor;
using std::fmax;
using std::fmin;
using std::fmod;
using std::log;
using std::log1p;
using std::rint;
using std::sqrt;
using std::trunc;
#if defined(GG_NOISE) /* see cuda_on_host_math.h */
#define exp(x) noisy_exp(x)
#define log(x) noisy_log(x)
#define log1p(x) noisy_log1p(x)
#define tanh(x) noisy_tanh(x)
#define sin(x) noisy_sin(x)
#define cos(x) noisy_cos(x)
#define erf(x) noisy_erf(x)
#define expm1(x) noisy_expm1(x)
#endif
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#endif

#define _Bool bool
#define GG_INLINE static __device__ __forceinline__
#define GG_FULL 0xffffffffu
#include "float_to_integer.h"

/* -- 16 bits in memory, float in registers */

/* The larger and the smaller of two numbers; NaN where either is NaN. */
template <typename T>
GG_INLINE T gg_larger(T a, T b) {
    const T either = a >= b ? a : b;
    return a != a ? a : either;
}

template <typename T>
GG_INLINE T gg_smaller(T a, T b) {
    const T either = a <= b ? a : b;
    return a != a ? a : either;
}

/* The number of bits of an unsigned integer that are 1. */
template <typename T>
GG_INLINE int gg_set_bits(T x) {
    return sizeof(T) > 4 ? __popcll(x) : __popc((unsigned)x);
}

GG_INLINE float gg_from_half(uint16_t bits) {
    __half_raw raw;
    raw.x = bits;
    return __half2float(__half(raw));
}

GG_INLINE uint16_t gg_to_half(float x) { return __half_raw(__float2half_rn(x)).x; }

GG_INLINE float gg_as_half(float x) { return gg_from_half(gg_to_half(x)); }

GG_INLINE float gg_from_bfloat16(uint16_t bits) { return __int_as_float((int)bits << 16); }

/* Rounded to even; NaN stays NaN. */
GG_INLINE uint16_t gg_to_bfloat16(float x) {
    uint32_t bits = (uint32_t)__float_as_int(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

GG_INLINE float gg_as_bfloat16(float x) { return gg_from_bfloat16(gg_to_bfloat16(x)); }

/* -- several elements in one load or store (templates are of V: T may be a macro) */

template <class V, int N> struct alignas(sizeof(V) * N) gg_pack {
    V of[N];
};

/* A pack that is only moved, as words: halves of registers would be taken apart and put together. */
template <int BYTES> struct alignas(BYTES) gg_moved {
    uint32_t of[BYTES / 4];
};
template <> struct alignas(2) gg_moved<2> {
    uint16_t of[1];
};

/* -- reductions of threads: each thread gets the same result */

GG_INLINE float gg_xor(float x, int mask) { return __shfl_xor_sync(GG_FULL, x, mask); }
GG_INLINE double gg_xor(double x, int mask) { return __shfl_xor_sync(GG_FULL, x, mask); }
GG_INLINE int32_t gg_xor(int32_t x, int mask) { return __shfl_xor_sync(GG_FULL, x, mask); }
GG_INLINE uint32_t gg_xor(uint32_t x, int mask) { return __shfl_xor_sync(GG_FULL, x, mask); }
GG_INLINE long long gg_xor(long long x, int mask) { return __shfl_xor_sync(GG_FULL, x, mask); }
GG_INLINE unsigned long long gg_xor(unsigned long long x, int mask) {
    return __shfl_xor_sync(GG_FULL, x, mask);
}
#if !defined(__CUDACC__) && !defined(__CUDACC_RTC__) /* there int64_t is long */
GG_INLINE long gg_xor(long x, int mask) { return gg_xor((long long)x, mask); }
GG_INLINE unsigned long gg_xor(unsigned long x, int mask) {
    return gg_xor((unsigned long long)x, mask);
}
#endif
GG_INLINE int8_t gg_xor(int8_t x, int mask) { return (int8_t)gg_xor((int32_t)x, mask); }
GG_INLINE uint8_t gg_xor(uint8_t x, int mask) { return (uint8_t)gg_xor((int32_t)x, mask); }
GG_INLINE int16_t gg_xor(int16_t x, int mask) { return (int16_t)gg_xor((int32_t)x, mask); }
GG_INLINE uint16_t gg_xor(uint16_t x, int mask) { return (uint16_t)gg_xor((int32_t)x, mask); }
GG_INLINE bool gg_xor(bool x, int mask) { return gg_xor((int32_t)x, mask) != 0; }

/* Sums of exp(x - largest), in which -inf as the largest element counts as 0. */
template <class V> GG_INLINE V gg_rescaled(V sum, V largest, V other) {
    return sum * exp(largest - (other == -(V)INFINITY ? (V)0 : other));
}

/* The largest element and the sum, with more elements. */
template <class V, int N> GG_INLINE void gg_online(const V (&x)[N], V &largest, V &sum) {
    V most = largest;
    for (int i = 0; i < N; i++) most = gg_larger(most, x[i]);
    const V base = most == -(V)INFINITY ? (V)0 : most;
    sum = gg_rescaled(sum, largest, most);
    for (int i = 0; i < N; i++) sum += exp(x[i] - base);
    largest = most;
}

/* Over `G` neighbouring threads (1, 32, or all of a block of one dimension). */
template <class V, V (*Two)(V, V), int G> GG_INLINE V gg_group(V x) {
    if (G == 1) return x;
    for (int mask = 16; mask; mask >>= 1) x = Two(x, gg_xor(x, mask));
    if (G == 32) return x;
    __shared__ V of_warp[32];
    const int warp = threadIdx.x >> 5;
    if ((threadIdx.x & 31) == 0) of_warp[warp] = x;
    __syncthreads();
    x = of_warp[0];
    for (int other = 1; other < G / 32; other++) x = Two(x, of_warp[other]);
    __syncthreads();
    return x;
}

/* Over all threads of a block of 256, whatever its dimensions. */
template <class V, V (*Two)(V, V)> GG_INLINE V gg_block(V x) {
    __shared__ V of_warp[8];
    const int thread = threadIdx.x + blockDim.x * threadIdx.y;
    for (int mask = 16; mask; mask >>= 1) x = Two(x, gg_xor(x, mask));
    if ((thread & 31) == 0) of_warp[thread >> 5] = x;
    __syncthreads();
    x = of_warp[0];
    for (int other = 1; other < 8; other++) x = Two(x, of_warp[other]);
    __syncthreads();
    return x;
}

/* Over the threads of one column (one threadIdx.x) of a block of 256; threadIdx.y 0 gets the
   result. */
template <class V, V (*Two)(V, V)> GG_INLINE V gg_column(V x) {
    __shared__ V all[256];
    const int width = blockDim.x, thread = threadIdx.x + width * threadIdx.y;
    all[thread] = x;
    __syncthreads();
    for (int half = blockDim.y >> 1; half; half >>= 1) {
        if (threadIdx.y < half) all[thread] = Two(all[thread], all[thread + half * width]);
        __syncthreads();
    }
    x = all[threadIdx.x];
    __syncthreads();
    return x;
}

/* The results of `count` parts, combined by a block of 256 threads: each thread gets the result. */
template <class V, V (*Two)(V, V)> GG_INLINE V gg_parts(const V *part, long long count, V start) {
    V x = start;
    for (long long at = threadIdx.x; at < count; at += 256) x = Two(x, part[at]);
    return gg_block<V, Two>(x);
}

/* The sum of exp(x - most) from sums that refer to the largest elements of parts. */
template <class V, V (*Two)(V, V)> GG_INLINE V gg_parts_online(const V *sums, const V *largest, long long count, V most) {
    V x = 0;
    for (long long at = threadIdx.x; at < count; at += 256) x = Two(x, sums[at] * exp(largest[at] - most));
    return gg_block<V, Two>(x);
}
