/* Images (batch, height, width, channels) of another size. Each pixel of an output line of `made`
   pixels is the weighted sum of TAPS pixels of an input line of `size`: 1 nearest, 2 bilinear, 4
   bicubic. Tables index[pixel, tap] and weight[pixel, tap] are computed first; the index of each tap
   grows with the pixel, so that the outputs of one input follow each other: starts[tap, pixel] is
   the first.

   Positions are computed in float, each operation by itself, as on the host.

   variants: T=float,half R=float S=float TAPS=1,2,4 ITEM=uint32_t
   variants: T=double,uint8 R=float,double S=double TAPS=2 ITEM=uint4 */

#include "gpu_kernel.cuh"

typedef S_VALUE gg_real;

#define GG_EACH(at) long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += (long long)gridDim.x * blockDim.x
#define GG_NEAREST 0
#define GG_CENTERED 1
#define GG_ALIGNED 2

GG_INLINE int gg_clipped(long long at, int size) { return (int)(at < 0 ? 0 : at >= size ? size - 1 : at); }

/* Keys' kernel at a distance. */
GG_INLINE double gg_cubic(double x, double a) {
    x = fabs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0;
}

/* mode: GG_CENTERED if pixels are at their centers; GG_ALIGNED if corners are aligned, which only
   the nearest pixel depends on: otherwise `scale` includes it. */
extern "C" __global__ void gg_taps(int *index, gg_real *weight, long long count, long long size, double scale, long long mode) {
    for (GG_EACH(at)) {
        const float by = (float)scale, pixel = (float)at;
        const bool centered = mode == GG_CENTERED;
        if (TAPS == 1) {
            float place = centered ? __fmul_rn(__fadd_rn(pixel, 0.5f), by) : __fmul_rn(pixel, by);
            if (mode == GG_ALIGNED) place = __fadd_rn(place, 0.5f);
            index[at] = gg_clipped((long long)floorf(place), (int)size);
            weight[at] = 1;
            continue;
        }
        const float place = centered ? __fadd_rn(__fmul_rn(__fadd_rn(pixel, 0.5f), by), -0.5f) : __fmul_rn(pixel, by);
        const float below = floorf(place), part = __fadd_rn(place, -below);
        if (TAPS == 2) {
            index[at * 2] = gg_clipped((long long)below, (int)size);
            index[at * 2 + 1] = gg_clipped((long long)ceilf(place), (int)size);
            weight[at * 2] = (gg_real)1 - (gg_real)part;
            weight[at * 2 + 1] = (gg_real)part;
            continue;
        }
        const double steps = rint(__fmul_rn(part, 1024.0f)) / 1024.0;
        double sum = 0, weights[4];
        for (int tap = 0; tap < 4; tap++) {
            const long long column = (long long)below + tap - 1;
            weights[tap] = gg_cubic(tap - 1 - steps, centered ? -0.5 : -0.75);
            index[at * TAPS + tap] = gg_clipped(column, (int)size);
            if (centered && gg_clipped(column, (int)size) != column) weights[tap] = 0;
            sum += weights[tap];
        }
        for (int tap = 0; tap < 4; tap++) weight[at * TAPS + tap] = (gg_real)(centered ? weights[tap] / sum : weights[tap]);
    }
}

/* starts[tap, position], position <= size: the first pixel whose index is `position` or more. */
extern "C" __global__ void gg_starts(const int *index, int *starts, long long count, long long size, long long made) {
    for (GG_EACH(at)) {
        const int tap = (int)(at / (size + 1)), position = (int)(at % (size + 1));
        long long low = 0, high = made;
        while (low < high) {
            const long long middle = (low + high) / 2;
            if (index[middle * TAPS + tap] < position) low = middle + 1;
            else high = middle;
        }
        starts[at] = (int)low;
    }
}

/* at = ((n * height + y) * width + x) * channels + c */
struct gg_at {
    long long n;
    int y, x, c;
};

GG_INLINE int gg_rest(long long &at, long long size) {
    if (at < (1ll << 31) && size < (1ll << 31)) { /* a fast division */
        const uint32_t whole = (uint32_t)at / (uint32_t)size, rest = (uint32_t)at - whole * (uint32_t)size;
        at = whole;
        return (int)rest;
    }
    const int rest = (int)(at % size);
    at /= size;
    return rest;
}

GG_INLINE gg_at gg_split(long long at, long long height, long long width, long long channels) {
    gg_at p;
    p.c = gg_rest(at, channels);
    p.x = gg_rest(at, width);
    p.y = gg_rest(at, height);
    p.n = at;
    return p;
}

#define GG_SIZES long long count, long long height, long long width, long long rows, long long columns, long long channels

/* out, of rows x columns pixels, of source, of height x width. */
extern "C" __global__ void gg_resize(const T *source, R *out, const int *y_index, const gg_real *y_weight, const int *x_index, const gg_real *x_weight, GG_SIZES) {
    for (GG_EACH(at)) {
        const gg_at p = gg_split(at, rows, columns, channels);
        gg_real sum = 0;
#pragma unroll
        for (int i = 0; i < TAPS; i++) {
            const T *line = source + (p.n * height + y_index[p.y * TAPS + i]) * width * channels + p.c;
            gg_real part = 0;
#pragma unroll
            for (int j = 0; j < TAPS; j++) part += (gg_real)T_LOAD(line[x_index[p.x * TAPS + j] * channels]) * x_weight[p.x * TAPS + j];
            sum += part * y_weight[p.y * TAPS + i];
        }
        out[at] = R_STORE((R_VALUE)sum);
    }
}

/* out, of height x width pixels: the sums of dy, of rows x columns, by the weights they had. */
extern "C" __global__ void gg_resize_back(const T *dy, R *out, const int *y_starts, const gg_real *y_weight, const int *x_starts, const gg_real *x_weight, GG_SIZES) {
    for (GG_EACH(at)) {
        const gg_at p = gg_split(at, height, width, channels);
        gg_real sum = 0;
        for (int i = 0; i < TAPS; i++) {
            const int *of_y = y_starts + i * (height + 1) + p.y;
            for (int row = of_y[0]; row < of_y[1]; row++) {
                const T *line = dy + (p.n * rows + row) * columns * channels + p.c;
                gg_real part = 0;
                for (int j = 0; j < TAPS; j++) {
                    const int *of_x = x_starts + j * (width + 1) + p.x;
                    for (int column = of_x[0]; column < of_x[1]; column++) part += (gg_real)T_LOAD(line[column * channels]) * x_weight[column * TAPS + j];
                }
                sum += part * y_weight[row * TAPS + i];
            }
        }
        out[at] = R_STORE((R_VALUE)sum);
    }
}

/* out, of rows x columns pixels, of the nearest of source. */
extern "C" __global__ void gg_nearest(const ITEM *source, ITEM *out, const int *y_index, const int *x_index, GG_SIZES) {
    for (GG_EACH(at)) {
        const gg_at p = gg_split(at, rows, columns, channels);
        out[at] = source[((p.n * height + y_index[p.y]) * width + x_index[p.x]) * channels + p.c];
    }
}
