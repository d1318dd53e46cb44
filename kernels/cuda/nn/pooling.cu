/* Pooling of images and volumes, and its gradients. The maximum of a window is the last element
   that is larger than all before it. In images that may be the first, whatever its value; a
   window of volumes that has nothing except NaN and the lowest number has no maximum. The
   gradients are sums, in order, over the windows that hold a pixel: nothing is added atomically.

   GG_PACK: channels of a thread. GG_NUMBER: the type of an element's number in its window; its
   largest value means that there is no maximum. GG_LOWEST: the initial value of the search.

   variants: T=float,half GG_LAST=1 GG_VOLUME=0,1 PLACE=int32_t GG_PACK=4 GG_NUMBER=uint8_t GG_LOWEST=-INFINITY
   variants: T=float,half,double GG_LAST=0,1 GG_VOLUME=0,1 PLACE=int64_t GG_PACK=1 GG_NUMBER=int32_t GG_LOWEST=-INFINITY
   variants: T=int32,uint8 GG_LAST=0,1 GG_VOLUME=0 PLACE=int32_t GG_PACK=1 GG_NUMBER=uint8_t GG_LOWEST=0 */

#include "window_geometry.cuh"

#define GG_NONE ((GG_NUMBER)~(GG_NUMBER)0)

typedef gg_pack<T, GG_PACK> gg_items;
typedef gg_pack<GG_NUMBER, GG_PACK> gg_numbers;

/* Iterates over packs of channels, counted from 0 to `count`. */
#define GG_EACH(at) PLACE at = (PLACE)blockIdx.x * blockDim.x + threadIdx.x; at < (PLACE)count; at += (PLACE)gridDim.x * blockDim.x
#define GG_WITHIN(e, run) int e = (run).first; e < (run).stop; e += (run).every

#define GG_PIXELS gg_lay(channels, z.size, y.size, x.size)
#define GG_RESULTS gg_lay(channels, z.out, y.out, x.out)

/* out[place] = the maximum of each window. NaN is ignored in images, and wins in volumes. */
extern "C" __global__ void gg_max_pool(const T *source, T *out, long long count, long long channels, GG_AXES) {
    GG_TAKE_AXES
    const gg_layout from = GG_PIXELS, to = GG_RESULTS;
    const bool aligned = gg_aligned<GG_PACK>(source), even = gg_aligned<GG_PACK>(out);
    for (GG_EACH(at)) {
        const gg_pixel p = gg_pixel_of(at, (int)channels / GG_PACK, z.out, y.out, x.out);
        const T *base = source + p.n * from.n + (PLACE)p.c * GG_PACK * from.c;
        const gg_run over_z = gg_inside(z, p.z), over_y = gg_inside(y, p.y), over_x = gg_inside(x, p.x);
        T_VALUE best[GG_PACK];
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) best[e] = GG_LOWEST;
        for (GG_WITHIN(a, over_z))
            for (GG_WITHIN(i, over_y))
                for (GG_WITHIN(j, over_x)) {
                    const gg_items seen = gg_read<GG_PACK>(base + (PLACE)(p.z * z.stride + a - z.before) * from.z + (PLACE)(p.y * y.stride + i - y.before) * from.y + (PLACE)(p.x * x.stride + j - x.before) * from.x, aligned);
#pragma unroll
                    for (int e = 0; e < GG_PACK; e++) {
                        const T_VALUE v = T_LOAD(seen.of[e]);
                        if (v > best[e] || (GG_VOLUME && v != v)) best[e] = v;
                    }
                }
        gg_items made;
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) made.of[e] = T_STORE(best[e]);
        gg_write<GG_PACK>(out + p.n * to.n + (PLACE)p.c * GG_PACK * to.c + p.z * to.z + p.y * to.y + p.x * to.x, made, even);
    }
}

/* The numbers of the maxima of window (pz, py, px), and their positions. */
GG_INLINE void gg_find(const gg_pixel &p, const T *base, const gg_layout &from, const gg_axis &z, const gg_axis &y, const gg_axis &x, bool aligned, GG_NUMBER *number, PLACE *where) {
    const gg_run over_z = gg_inside(z, p.z), over_y = gg_inside(y, p.y), over_x = gg_inside(x, p.x);
    T_VALUE best[GG_PACK];
#pragma unroll
    for (int e = 0; e < GG_PACK; e++) best[e] = GG_LOWEST, number[e] = GG_NONE, where[e] = 0;
    for (GG_WITHIN(a, over_z))
        for (GG_WITHIN(i, over_y))
            for (GG_WITHIN(j, over_x)) {
                const PLACE place = (PLACE)(p.z * z.stride + a - z.before) * from.z + (PLACE)(p.y * y.stride + i - y.before) * from.y + (PLACE)(p.x * x.stride + j - x.before) * from.x;
                const gg_items seen = gg_read<GG_PACK>(base + place, aligned);
#pragma unroll
                for (int e = 0; e < GG_PACK; e++)
                    if (T_LOAD(seen.of[e]) > best[e] || (!GG_VOLUME && number[e] == GG_NONE)) {
                        best[e] = T_LOAD(seen.of[e]);
                        number[e] = (GG_NUMBER)((a * y.window + i) * x.window + j);
                        where[e] = place + e * from.c;
                    }
            }
}

/* numbers[place] = the number of the maximum in each window. */
extern "C" __global__ void gg_max_places(const T *source, GG_NUMBER *numbers, long long count, long long channels, GG_AXES) {
    GG_TAKE_AXES
    const gg_layout from = GG_PIXELS;
    const bool aligned = gg_aligned<GG_PACK>(source);
    for (GG_EACH(at)) {
        const gg_pixel p = gg_pixel_of(at, (int)channels / GG_PACK, z.out, y.out, x.out);
        gg_numbers made;
        PLACE where[GG_PACK];
        gg_find(p, source + p.n * from.n + (PLACE)p.c * GG_PACK * from.c, from, z, y, x, aligned, made.of, where);
        gg_write<GG_PACK>(numbers + at * GG_PACK, made, true);
    }
}

/* out[pixel] = the sum of dy over the windows whose maximum it is. */
extern "C" __global__ void gg_max_pool_back(const GG_NUMBER *numbers, const T *dy, T *out, long long count, long long channels, GG_AXES) {
    GG_TAKE_AXES
    const gg_layout from = GG_RESULTS;
    const bool aligned = gg_aligned<GG_PACK>(dy), even = gg_aligned<GG_PACK>(out);
    for (GG_EACH(at)) {
        const gg_pixel p = gg_pixel_of(at, (int)channels / GG_PACK, z.size, y.size, x.size);
        const PLACE base = p.n * from.n + (PLACE)p.c * GG_PACK * from.c;
        const gg_run over_z = gg_windows_of(z, p.z), over_y = gg_windows_of(y, p.y), over_x = gg_windows_of(x, p.x);
        T_VALUE sum[GG_PACK];
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) sum[e] = 0;
        for (GG_WITHIN(d, over_z))
            for (GG_WITHIN(r, over_y))
                for (GG_WITHIN(c, over_x)) {
                    const int own = ((p.z + z.before - d * z.stride) * y.window + p.y + y.before - r * y.stride) * x.window + p.x + x.before - c * x.stride;
                    const PLACE place = base + d * from.z + r * from.y + c * from.x;
                    const gg_numbers found = gg_read<GG_PACK>(numbers + place, true);
                    bool any = false;
#pragma unroll
                    for (int e = 0; e < GG_PACK; e++) any = any || found.of[e] == (GG_NUMBER)own;
                    if (!any) continue;
                    const gg_items slope = gg_read<GG_PACK>(dy + place, aligned);
#pragma unroll
                    for (int e = 0; e < GG_PACK; e++)
                        if (found.of[e] == (GG_NUMBER)own) sum[e] += T_LOAD(slope.of[e]);
                }
        gg_items made;
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) made.of[e] = T_STORE(sum[e]);
        gg_write<GG_PACK>(out + at * GG_PACK, made, even);
    }
}

/* out[place] = ddx at each window's maximum; 0 if it has none. */
extern "C" __global__ void gg_max_pool_back_back(const T *source, const T *ddx, T *out, long long count, long long channels, GG_AXES) {
    GG_TAKE_AXES
    const gg_layout from = GG_PIXELS;
    const bool aligned = gg_aligned<GG_PACK>(source), even = gg_aligned<GG_PACK>(out);
    for (GG_EACH(at)) {
        const gg_pixel p = gg_pixel_of(at, (int)channels / GG_PACK, z.out, y.out, x.out);
        const PLACE base = p.n * from.n + (PLACE)p.c * GG_PACK * from.c;
        GG_NUMBER number[GG_PACK];
        PLACE where[GG_PACK];
        gg_find(p, source + base, from, z, y, x, aligned, number, where);
        gg_items made;
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) {
            made.of[e] = T();
            if (number[e] != GG_NONE) made.of[e] = ddx[base + where[e]];
        }
        gg_write<GG_PACK>(out + at * GG_PACK, made, even);
    }
}

GG_INLINE T_VALUE gg_part(const gg_axis &z, const gg_axis &y, const gg_axis &x, int d, int r, int c) {
    const int inside = gg_count_inside(z, d) * gg_count_inside(y, r) * gg_count_inside(x, c);
    return (T_VALUE)1 / (T_VALUE)(inside > 1 ? inside : 1);
}

/* out[place] = the mean of the elements of each window that are inside. */
extern "C" __global__ void gg_mean_pool(const T *source, T *out, long long count, long long channels, GG_AXES) {
    GG_TAKE_AXES
    const gg_layout from = GG_PIXELS;
    const bool aligned = gg_aligned<GG_PACK>(source), even = gg_aligned<GG_PACK>(out);
    for (GG_EACH(at)) {
        const gg_pixel p = gg_pixel_of(at, (int)channels / GG_PACK, z.out, y.out, x.out);
        const T *base = source + p.n * from.n + (PLACE)p.c * GG_PACK * from.c;
        const gg_run over_z = gg_inside(z, p.z), over_y = gg_inside(y, p.y), over_x = gg_inside(x, p.x);
        T_VALUE sum[GG_PACK];
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) sum[e] = 0;
        for (GG_WITHIN(a, over_z))
            for (GG_WITHIN(i, over_y))
                for (GG_WITHIN(j, over_x)) {
                    const gg_items seen = gg_read<GG_PACK>(base + (PLACE)(p.z * z.stride + a - z.before) * from.z + (PLACE)(p.y * y.stride + i - y.before) * from.y + (PLACE)(p.x * x.stride + j - x.before) * from.x, aligned);
#pragma unroll
                    for (int e = 0; e < GG_PACK; e++) sum[e] += T_LOAD(seen.of[e]);
                }
        const T_VALUE part = gg_part(z, y, x, p.z, p.y, p.x);
        gg_items made;
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) made.of[e] = T_STORE((T_VALUE)(sum[e] * part));
        gg_write<GG_PACK>(out + at * GG_PACK, made, even);
    }
}

/* out[pixel] = the sum of its shares of dy over the windows that hold it. */
extern "C" __global__ void gg_mean_pool_back(const T *dy, T *out, long long count, long long channels, GG_AXES) {
    GG_TAKE_AXES
    const gg_layout from = GG_RESULTS;
    const bool aligned = gg_aligned<GG_PACK>(dy), even = gg_aligned<GG_PACK>(out);
    for (GG_EACH(at)) {
        const gg_pixel p = gg_pixel_of(at, (int)channels / GG_PACK, z.size, y.size, x.size);
        const T *base = dy + p.n * from.n + (PLACE)p.c * GG_PACK * from.c;
        const gg_run over_z = gg_windows_of(z, p.z), over_y = gg_windows_of(y, p.y), over_x = gg_windows_of(x, p.x);
        T_VALUE sum[GG_PACK];
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) sum[e] = 0;
        for (GG_WITHIN(d, over_z))
            for (GG_WITHIN(r, over_y))
                for (GG_WITHIN(c, over_x)) {
                    const gg_items slope = gg_read<GG_PACK>(base + d * from.z + r * from.y + c * from.x, aligned);
                    const T_VALUE part = gg_part(z, y, x, d, r, c);
#pragma unroll
                    for (int e = 0; e < GG_PACK; e++) sum[e] += T_LOAD(slope.of[e]) * part;
                }
        gg_items made;
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) made.of[e] = T_STORE(sum[e]);
        gg_write<GG_PACK>(out + at * GG_PACK, made, even);
    }
}
