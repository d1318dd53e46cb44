/* Convolution of each channel by itself, and its gradients. filter (kh, kw, channels, times):
   output channel * times + t uses filter t. GG_PACK: the channels of a thread, if there is one
   filter per channel.

   variants: T=float,half GG_LAST=1 GG_VOLUME=0 PLACE=int32_t GG_PACK=4
   variants: T=float,half,double GG_LAST=0,1 GG_VOLUME=0 PLACE=int64_t GG_PACK=1 */

#include "window_geometry.cuh"

typedef gg_pack<T, GG_PACK> gg_items;

#define GG_EACH(at) PLACE at = (PLACE)blockIdx.x * blockDim.x + threadIdx.x; at < (PLACE)count; at += (PLACE)gridDim.x * blockDim.x
#define GG_WITHIN(e, run) int e = (run).first; e < (run).stop; e += (run).every

/* out[place, output] = the sum over the window's elements of the channel, times the filter. */
extern "C" __global__ void gg_depthwise(const T *source, const T *filter, T *out, long long count, long long channels, long long times, GG_AXES) {
    GG_TAKE_AXES
    const int outputs = (int)(channels * times);
    const gg_layout from = gg_lay(channels, 1, y.size, x.size);
    const bool aligned = gg_aligned<GG_PACK>(source), even = gg_aligned<GG_PACK>(filter), level = gg_aligned<GG_PACK>(out);
    for (GG_EACH(at)) {
        const gg_pixel p = gg_pixel_of(at, outputs / GG_PACK, 1, y.out, x.out);
        const int output = p.c * GG_PACK, channel = GG_PACK > 1 ? output : output / (int)times;
        const T *base = source + p.n * from.n + (PLACE)channel * from.c;
        const gg_run over_y = gg_inside(y, p.y), over_x = gg_inside(x, p.x);
        T_VALUE sum[GG_PACK];
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) sum[e] = 0;
        for (GG_WITHIN(i, over_y))
            for (GG_WITHIN(j, over_x)) {
                const gg_items seen = gg_read<GG_PACK>(base + (PLACE)(p.y * y.stride + i * y.dilation - y.before) * from.y + (PLACE)(p.x * x.stride + j * x.dilation - x.before) * from.x, aligned);
                const gg_items by = gg_read<GG_PACK>(filter + (PLACE)(i * x.window + j) * outputs + output, even);
#pragma unroll
                for (int e = 0; e < GG_PACK; e++) sum[e] += T_LOAD(seen.of[e]) * T_LOAD(by.of[e]);
            }
        gg_items made;
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) made.of[e] = T_STORE(sum[e]);
        gg_write<GG_PACK>(out + at * GG_PACK, made, level);
    }
}

/* out[pixel, channel] = the sum of dy times the filter over the windows that contain the pixel. */
extern "C" __global__ void gg_depthwise_back_input(const T *filter, const T *dy, T *out, long long count, long long channels, long long times, GG_AXES) {
    GG_TAKE_AXES
    const int outputs = (int)(channels * times);
    const gg_layout from = gg_lay(outputs, 1, y.out, x.out);
    const bool aligned = gg_aligned<GG_PACK>(dy), even = gg_aligned<GG_PACK>(filter), level = gg_aligned<GG_PACK>(out);
    for (GG_EACH(at)) {
        const gg_pixel p = gg_pixel_of(at, (int)channels / GG_PACK, 1, y.size, x.size);
        const int first = p.c * GG_PACK * (int)times;
        const PLACE base = p.n * from.n;
        const gg_run over_y = gg_elements_of(y, p.y), over_x = gg_elements_of(x, p.x);
        T_VALUE sum[GG_PACK];
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) sum[e] = 0;
        for (GG_WITHIN(i, over_y)) {
            const int reach_y = p.y + y.before - i * y.dilation, row = reach_y / y.stride;
            if (reach_y < 0 || row >= y.out) continue;
            for (GG_WITHIN(j, over_x)) {
                const int reach_x = p.x + x.before - j * x.dilation, column = reach_x / x.stride;
                if (reach_x < 0 || column >= x.out) continue;
                for (int t = 0; t < (int)times; t++) {
                    const gg_items slope = gg_read<GG_PACK>(dy + base + row * from.y + column * from.x + (PLACE)(first + t) * from.c, aligned);
                    const gg_items by = gg_read<GG_PACK>(filter + (PLACE)(i * x.window + j) * outputs + first + t, even);
#pragma unroll
                    for (int e = 0; e < GG_PACK; e++) sum[e] += T_LOAD(slope.of[e]) * T_LOAD(by.of[e]);
                }
            }
        }
        gg_items made;
#pragma unroll
        for (int e = 0; e < GG_PACK; e++) made.of[e] = T_STORE(sum[e]);
        gg_write<GG_PACK>(out + at * GG_PACK, made, level);
    }
}

GG_INLINE T_VALUE gg_add(T_VALUE a, T_VALUE b) { return a + b; }

/* out[element, output] = the sum over windows of the input of this element times dy; `splits` parts
   of `each` rows of windows, in parts[part, element, output] if there are several. Blocks of 256
   threads: channels last, blockDim.x outputs of one element, whose windows are spread over
   threadIdx.y; else one output, whose rows are spread over threadIdx.y. */
extern "C" __global__ void gg_depthwise_back_filter(const T *source, const T *dy, T *out, T_VALUE *parts, long long batch, long long channels, long long times, long long splits, long long each, GG_AXES) {
    GG_TAKE_AXES
    const int outputs = (int)(channels * times), elements = y.window * x.window;
    const gg_layout from = gg_lay(channels, 1, y.size, x.size), at = gg_lay(outputs, 1, y.out, x.out);
    const int element = blockIdx.x % elements, group = blockIdx.x / elements;
    const int i = element / x.window, j = element % x.window;
    const int output = GG_LAST ? group * blockDim.x + threadIdx.x : group;
    const int channel = output / (int)times;
    const PLACE rows = (PLACE)batch * y.out, first = (PLACE)blockIdx.y * (PLACE)each;
    const PLACE stop = first + (PLACE)each < rows ? first + (PLACE)each : rows;
    T_VALUE sum = 0;
    if (output < outputs) {
        for (PLACE row = first + (GG_LAST ? 0 : threadIdx.y); row < stop; row += GG_LAST ? 1 : blockDim.y) {
            PLACE n = row;
            const int oy = gg_cut(n, y.out), iy = oy * y.stride + i * y.dilation - y.before;
            if ((unsigned)iy >= (unsigned)y.size) continue;
            const T *seen = source + n * from.n + iy * from.y + channel * from.c;
            const T *slope = dy + n * at.n + oy * at.y + output * at.c;
            for (int ox = GG_LAST ? threadIdx.y : threadIdx.x; ox < x.out; ox += GG_LAST ? blockDim.y : blockDim.x) {
                const int ix = ox * x.stride + j * x.dilation - x.before;
                if ((unsigned)ix < (unsigned)x.size) sum += T_LOAD(seen[ix * from.x]) * T_LOAD(slope[ox * at.x]);
            }
        }
    }
    sum = GG_LAST ? gg_column<T_VALUE, gg_add>(sum) : gg_block<T_VALUE, gg_add>(sum);
    const bool says = GG_LAST ? threadIdx.y == 0 : threadIdx.x + threadIdx.y == 0;
    if (!says || output >= outputs) return;
    const PLACE place = (PLACE)element * outputs + output;
    if (splits > 1) parts[(PLACE)blockIdx.y * elements * outputs + place] = sum;
    else out[place] = T_STORE(sum);
}

/* out[at] = the sum of parts[part, at], of `count` elements a part. */
extern "C" __global__ void gg_sum_parts(const T_VALUE *parts, T *out, long long count, long long splits) {
    for (GG_EACH(at)) {
        T_VALUE sum = parts[at];
        for (long long part = 1; part < splits; part++) sum += parts[part * count + at];
        out[at] = T_STORE(sum);
    }
}
