/* Common parts of convolution.cu and convolution_mma.cu: the offsets of a pixel and of an element
   of the window, the part of a tile that a thread loads, and the stores of its sums. Macros: see
   convolution.cu; for a block GG_STEP, the steps of a tile, and GG_THREADS; GG_HELD(PACK), the type
   of a pack in registers. */

#pragma once

#include "window_geometry.cuh"

#define GG_OUTSIDE (-(1 << 30))
#define GG_A_ALONG_STEPS ((GG_MODE == 2) != (GG_LAST != 0))
#define GG_B_ALONG_STEPS (GG_MODE == 1 || (GG_MODE == 2 && !GG_LAST))
#define GG_OUT_ALONG_ROWS (GG_MODE != 2 && !GG_LAST)

/* Along one axis, row w reads w * stride + offset + e * step, e < count, of `size` positions; e
   is element first + e * every of the filter, w is position from + w * by of the result. */
struct gg_walk {
    int rows, stride, offset, step, count, size, first, every, from, by;
};

struct gg_work {
    gg_walk z, y, x;
    gg_layout source, result;
    PLACE pixels, elements;
    int source_channels, depth, outputs, height, width; /* the filter's sizes */
};

GG_INLINE gg_walk gg_forward(const gg_axis &a) {
    const gg_walk made = {a.out, a.stride, -a.before, a.dilation, a.window, a.size, 0, 1, 0, 1};
    return made;
}

GG_INLINE gg_walk gg_backward(const gg_axis &a, int phase) {
    const gg_run run = gg_elements_of(a, phase);
    const int count = run.first < run.stop ? (run.stop - run.first + run.every - 1) / run.every : 0;
    gg_walk made = {0, 1, 0, 0, count, a.out, run.first, run.every, phase, a.stride};
    if (phase < a.size) made.rows = (a.size - phase + a.stride - 1) / a.stride;
    made.offset = (phase + a.before - run.first * a.dilation) / a.stride;
    made.step = -(run.every * a.dilation / a.stride);
    return made;
}

GG_INLINE gg_work gg_work_of(const gg_axis &x, const gg_axis &y, const gg_axis &z, long long batch, long long depth, long long outputs, int phase) {
    gg_work w;
    if (GG_MODE == 1) {
        w.x = gg_backward(x, phase % x.stride), phase /= x.stride;
        w.y = gg_backward(y, phase % y.stride), phase /= y.stride;
        w.z = gg_backward(z, phase);
        w.source = gg_lay(outputs, z.out, y.out, x.out);
        w.result = gg_lay(depth, z.size, y.size, x.size);
    } else {
        w.x = gg_forward(x), w.y = gg_forward(y), w.z = gg_forward(z);
        w.source = gg_lay(depth, z.size, y.size, x.size);
        w.result = gg_lay(outputs, z.out, y.out, x.out);
    }
    w.depth = (int)depth, w.outputs = (int)outputs, w.height = y.window, w.width = x.window;
    w.source_channels = GG_MODE == 1 ? (int)outputs : (int)depth;
    w.pixels = (PLACE)batch * w.z.rows * w.y.rows * w.x.rows;
    w.elements = (PLACE)w.z.count * w.y.count * w.x.count * w.source_channels;
    return w;
}

/* The offsets of a row or a step: in the array under the windows (with coordinates), and in the
   other array. */
struct alignas(16) gg_entry {
    PLACE at, other;
    int y, x;
#if GG_VOLUME
    int z;
#endif
};

GG_INLINE gg_entry gg_pixel_entry(const gg_work &w, PLACE at) {
    gg_entry e;
    if (at >= w.pixels) {
        e.at = e.other = 0;
        e.y = e.x = GG_OUTSIDE;
#if GG_VOLUME
        e.z = GG_OUTSIDE;
#endif
        return e;
    }
    const int x = gg_cut(at, w.x.rows), y = gg_cut(at, w.y.rows);
    e.x = x * w.x.stride + w.x.offset;
    e.y = y * w.y.stride + w.y.offset;
    e.other = (PLACE)(w.x.from + x * w.x.by) * w.result.x + (PLACE)(w.y.from + y * w.y.by) * w.result.y;
    e.at = (PLACE)e.x * w.source.x + (PLACE)e.y * w.source.y;
#if GG_VOLUME
    const int z = gg_cut(at, w.z.rows);
    e.z = z * w.z.stride + w.z.offset;
    e.other += (PLACE)(w.z.from + z * w.z.by) * w.result.z;
    e.at += (PLACE)e.z * w.source.z;
#endif
    e.other += at * w.result.n;
    e.at += at * w.source.n;
    return e;
}

GG_INLINE gg_entry gg_element_entry(const gg_work &w, PLACE at) {
    gg_entry e;
    if (at >= w.elements) {
        e.at = e.other = 0;
        e.y = e.x = GG_OUTSIDE;
#if GG_VOLUME
        e.z = GG_OUTSIDE;
#endif
        return e;
    }
    const int c = gg_cut(at, w.source_channels), j = gg_cut(at, w.x.count), i = gg_cut(at, w.y.count);
    e.x = j * w.x.step;
    e.y = i * w.y.step;
    e.at = (PLACE)e.x * w.source.x + (PLACE)e.y * w.source.y + c * w.source.c;
    PLACE in_filter = w.y.first + i * w.y.every;
#if GG_VOLUME
    e.z = (int)at * w.z.step;
    e.at += (PLACE)e.z * w.source.z;
    in_filter += (PLACE)(w.z.first + (int)at * w.z.every) * w.height;
#endif
    in_filter = (in_filter * w.width + w.x.first + j * w.x.every) * w.depth;
    e.other = GG_MODE == 1 ? in_filter * w.outputs + c : (in_filter + c) * w.outputs;
    return e;
}

GG_INLINE gg_entry gg_row_entry(const gg_work &w, PLACE at) { return GG_MODE == 2 ? gg_element_entry(w, at) : gg_pixel_entry(w, at); }

GG_INLINE gg_entry gg_step_entry(const gg_work &w, PLACE at, PLACE stop) {
    if (at >= stop) at = GG_MODE == 2 ? w.pixels : w.elements;
    return GG_MODE == 2 ? gg_pixel_entry(w, at) : gg_element_entry(w, at);
}

GG_INLINE bool gg_sees(const gg_work &w, const gg_entry &row, const gg_entry &step) {
    bool inside = (unsigned)(row.y + step.y) < (unsigned)w.y.size && (unsigned)(row.x + step.x) < (unsigned)w.x.size;
#if GG_VOLUME
    inside = inside && (unsigned)(row.z + step.z) < (unsigned)w.z.size;
#endif
    return inside;
}

/* The output of a block: rows and columns from `row0` and `column0` on, summed up over steps from
   `first` to `stop`; the strides of columns in `other` and in the result. */
struct gg_part {
    PLACE rows, row0, first, stop, other_column, out_column;
    int columns, column0, split;
    bool alone; /* it has all the steps */
};

/* Parameters, which take no registers, are used where possible. */
GG_INLINE gg_part gg_part_of(const gg_work &w, long long depth, long long outputs, long long splits, long long each) {
    gg_part p;
    p.rows = GG_MODE == 2 ? w.elements : w.pixels;
    const PLACE steps = GG_MODE == 2 ? w.pixels : w.elements;
    p.columns = GG_MODE == 1 ? (int)depth : (int)outputs;
    p.other_column = GG_MODE == 0 ? 1 : GG_MODE == 1 ? (PLACE)outputs : w.result.c;
    p.out_column = GG_MODE == 2 ? 1 : w.result.c;
    const int across = (p.columns + GG_COLUMNS - 1) / GG_COLUMNS;
    p.row0 = (PLACE)(blockIdx.x / across) * GG_ROWS;
    p.column0 = (int)(blockIdx.x % across) * GG_COLUMNS;
    p.split = (int)(blockIdx.z % splits), p.alone = splits == 1;
    p.first = (PLACE)p.split * (PLACE)each;
    p.stop = p.first + (PLACE)each < steps ? p.first + (PLACE)each : steps;
    return p;
}

/* The packs of a tile of `WIDTH` x GG_STEP elements that a thread loads. */
template <int WIDTH, bool ALONG_STEPS, int PACK> struct gg_share {
    static constexpr int packs = WIDTH * GG_STEP / PACK;
    static constexpr int each = (packs + GG_THREADS - 1) / GG_THREADS;
    static __device__ __forceinline__ bool has(int q) { return packs % GG_THREADS == 0 || (int)threadIdx.x + q * GG_THREADS < packs; }
    static __device__ __forceinline__ int step(int q) {
        const int p = threadIdx.x + q * GG_THREADS;
        return ALONG_STEPS ? p % (GG_STEP / PACK) * PACK : p / (WIDTH / PACK);
    }
    static __device__ __forceinline__ int place(int q) {
        const int p = threadIdx.x + q * GG_THREADS;
        return ALONG_STEPS ? p / (GG_STEP / PACK) : p % (WIDTH / PACK) * PACK;
    }
};

typedef gg_share<GG_ROWS, GG_A_ALONG_STEPS, GG_PACK_A> gg_share_a;
typedef gg_share<GG_COLUMNS, GG_B_ALONG_STEPS, GG_PACK_B> gg_share_b;

/* A thread's packs of the next tiles. */
struct gg_held {
    GG_HELD(GG_PACK_A) a[gg_share_a::each];
    GG_HELD(GG_PACK_B) b[gg_share_b::each];
};

/* A pack in memory: one load, or one for each element where packs may begin at any address. */
template <bool ALIGNED, class Held> struct gg_fetch {
    static __device__ __forceinline__ Held from(const T *at) { return *(const Held *)at; }
};
template <class Held> struct gg_fetch<false, Held> {
    static __device__ __forceinline__ Held from(const T *at) {
        Held held;
        T items[sizeof(Held) / sizeof(T)];
#pragma unroll
        for (int e = 0; e < (int)(sizeof(Held) / sizeof(T)); e++) items[e] = at[e];
        memcpy(&held, items, sizeof held);
        return held;
    }
};

GG_INLINE void gg_load(gg_held &held, const gg_work &w, const gg_part &p, const gg_entry *rows, const gg_entry *steps, const T *source, const T *other) {
#pragma unroll
    for (int q = 0; q < gg_share_a::each; q++) {
        held.a[q] = GG_HELD(GG_PACK_A)();
        if (!gg_share_a::has(q)) continue;
        const gg_entry row = rows[gg_share_a::place(q)], step = steps[gg_share_a::step(q)];
        if (gg_sees(w, row, step)) held.a[q] = gg_fetch<GG_ALIGNED_A || GG_PACK_A == 1, GG_HELD(GG_PACK_A)>::from(source + row.at + step.at);
    }
#pragma unroll
    for (int q = 0; q < gg_share_b::each; q++) {
        held.b[q] = GG_HELD(GG_PACK_B)();
        if (!gg_share_b::has(q)) continue;
        const int column = p.column0 + gg_share_b::place(q);
        const gg_entry step = steps[gg_share_b::step(q)];
        if (column < p.columns && step.y != GG_OUTSIDE) held.b[q] = gg_fetch<GG_ALIGNED_B || GG_PACK_B == 1, GG_HELD(GG_PACK_B)>::from(other + step.other + column * p.other_column);
    }
}

GG_INLINE T_VALUE gg_finished(T_VALUE x, const T *bias, PLACE column) {
    if (GG_BIAS) x = T_LOAD(T_STORE(x)) + T_LOAD(bias[column]);
    if (GG_CUT && !(x >= (T_VALUE)0) && x == x) x = (T_VALUE)0;
    if (GG_CUT == 2 && x > (T_VALUE)6) x = (T_VALUE)6;
    return x;
}

/* Whether N columns of a row of the result are one store. */
template <int N> GG_INLINE bool gg_packed(const gg_part &p, const T *out) { return p.out_column == 1 && p.columns % N == 0 && gg_aligned<N>(out); }

/* Stores N sums of a row, from `column` on; the row begins at `begin` of the result. */
template <int N> GG_INLINE void gg_put(const T_VALUE *sums, const gg_part &p, PLACE row, PLACE begin, int column, bool packed, T *out, const T *bias, T_VALUE *parts) {
    if (!p.alone) {
        T_VALUE *to = parts + ((long long)p.split * p.rows + row) * p.columns + column;
#pragma unroll
        for (int e = 0; e < N; e++)
            if (column + e < p.columns) to[e] = sums[e];
    } else if (packed && column < p.columns) {
        gg_pack<T, N> made;
#pragma unroll
        for (int e = 0; e < N; e++) made.of[e] = T_STORE(gg_finished(sums[e], bias, column + e));
        *(gg_pack<T, N> *)(out + begin + column) = made;
    } else {
#pragma unroll
        for (int e = 0; e < N; e++)
            if (column + e < p.columns) out[begin + (column + e) * p.out_column] = T_STORE(gg_finished(sums[e], bias, column + e));
    }
}

/* out[row, column] = the sum of parts[part, row, column], of `count` elements a part. */
extern "C" __global__ void gg_sum_parts(const T_VALUE *parts, T *out, const T *bias, long long count, long long columns, long long splits) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        T_VALUE sum = parts[at];
        for (long long part = 1; part < splits; part++) sum += parts[part * count + at];
        out[at] = T_STORE(gg_finished(sum, bias, GG_BIAS ? (PLACE)(at % columns) : 0));
    }
}
