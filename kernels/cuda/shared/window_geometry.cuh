/* Windows that slide over images, or over volumes (GG_VOLUME=1): geometry, and offsets of pixels.

   Element e of window w of an axis is at w * stride + e * dilation - before, and counts if that
   is within [0, size). Images have a z axis of size 1. GG_LAST: whether channels are the last
   axis (NHWC) or the one after the batch. PLACE: the type of offsets in arrays, int32_t or
   int64_t. */

#pragma once

#include "gpu_kernel.cuh"

struct gg_axis {
    int size, window, stride, dilation, before, out;
};

/* The parameters of kernels over windows, and the structure that they fill. */
#define GG_AXES long long z_size, long long z_window, long long z_stride, long long z_dilation, long long z_before, long long z_out, long long y_size, long long y_window, long long y_stride, long long y_dilation, long long y_before, long long y_out, long long x_size, long long x_window, long long x_stride, long long x_dilation, long long x_before, long long x_out
#define GG_TAKE_AXES \
    const gg_axis z = {(int)z_size, (int)z_window, (int)z_stride, (int)z_dilation, (int)z_before, (int)z_out}; \
    const gg_axis y = {(int)y_size, (int)y_window, (int)y_stride, (int)y_dilation, (int)y_before, (int)y_out}; \
    const gg_axis x = {(int)x_size, (int)x_window, (int)x_stride, (int)x_dilation, (int)x_before, (int)x_out};

/* The strides of the axes. */
struct gg_layout {
    PLACE n, z, y, x, c;
};

GG_INLINE gg_layout gg_lay(PLACE channels, PLACE depth, PLACE height, PLACE width) {
    gg_layout made;
    if (GG_LAST) {
        made.c = 1;
        made.x = channels;
        made.y = width * made.x;
        made.z = height * made.y;
        made.n = depth * made.z;
    } else {
        made.x = 1;
        made.y = width;
        made.z = height * made.y;
        made.c = depth * made.z;
        made.n = channels * made.c;
    }
    return made;
}

/* at = at / size; the remainder. */
GG_INLINE int gg_cut(PLACE &at, int size) {
    if (sizeof(PLACE) == 4) {
        const uint32_t rest = (uint32_t)at % (uint32_t)size;
        at = (PLACE)((uint32_t)at / (uint32_t)size);
        return (int)rest;
    }
    const int rest = (int)(at % size);
    at /= size;
    return rest;
}

/* One element of an array of images, or `GG_PACK` of its channels. */
struct gg_pixel {
    PLACE n;
    int z, y, x, c;
};

GG_INLINE gg_pixel gg_pixel_of(PLACE at, int channels, int depth, int height, int width) {
    gg_pixel p;
    p.z = 0;
    if (GG_LAST) p.c = gg_cut(at, channels);
    p.x = gg_cut(at, width);
    p.y = gg_cut(at, height);
    if (GG_VOLUME) p.z = gg_cut(at, depth);
    if (!GG_LAST) p.c = gg_cut(at, channels);
    p.n = at;
    return p;
}

GG_INLINE int gg_gcd(int a, int b) {
    while (b) {
        const int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A run of window elements or of windows: first, first + every, ... below `stop`. */
struct gg_run {
    int first, stop, every;
};

/* The elements of window `w` that are inside. */
GG_INLINE gg_run gg_inside(const gg_axis &axis, int w) {
    const int begin = w * axis.stride - axis.before;
    gg_run run = {0, axis.window, 1};
    if (begin < 0) run.first = (-begin + axis.dilation - 1) / axis.dilation;
    const int room = axis.size - begin;
    if (room <= (axis.window - 1) * axis.dilation)
        run.stop = room > 0 ? (room + axis.dilation - 1) / axis.dilation : 0;
    return run;
}

GG_INLINE int gg_count_inside(const gg_axis &axis, int w) {
    const gg_run run = gg_inside(axis, w);
    return run.stop > run.first ? run.stop - run.first : 0;
}

/* The neighbouring windows that may hold `position`, without dilation: the element of window w is
   position + before - w * stride. */
GG_INLINE gg_run gg_windows_of(const gg_axis &axis, int position) {
    const int reach = position + axis.before;
    gg_run run = {0, reach / axis.stride + 1, 1};
    if (reach >= axis.window) run.first = (reach - axis.window) / axis.stride + 1;
    if (run.stop > axis.out) run.stop = axis.out;
    return run;
}

/* The elements by which windows may hold `position`: the window of element e is (position +
   before - e * dilation) / stride, which is an integer for the elements of the run, and must be
   within [0, out). */
GG_INLINE gg_run gg_elements_of(const gg_axis &axis, int position) {
    const int reach = position + axis.before;
    gg_run run = {0, axis.window, 1};
    if (axis.stride == 1) return run;
    run.every = axis.stride / gg_gcd(axis.stride, axis.dilation);
    while (run.first < run.every && (reach - run.first * axis.dilation) % axis.stride) run.first++;
    if (run.first == run.every) run.first = run.stop;
    return run;
}

/* -- several elements in one load or store, if the arrays are aligned for it */

template <int N, class M> GG_INLINE bool gg_aligned(const M *array) {
    return (unsigned long long)array % (sizeof(M) * N) == 0;
}

template <int N, class M> GG_INLINE gg_pack<M, N> gg_read(const M *from, bool aligned) {
    if (N == 1 || aligned) return *(const gg_pack<M, N> *)from;
    gg_pack<M, N> made;
#pragma unroll
    for (int i = 0; i < N; i++) made.of[i] = from[i];
    return made;
}

template <int N, class M> GG_INLINE void gg_write(M *to, const gg_pack<M, N> &made, bool aligned) {
    if (N == 1 || aligned) {
        *(gg_pack<M, N> *)to = made;
    } else {
#pragma unroll
        for (int i = 0; i < N; i++) to[i] = made.of[i];
    }
}
