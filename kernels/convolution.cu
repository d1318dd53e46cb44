/* Convolution of images and volumes, and its gradients, as products of matrices that are never laid
   out: tiles go through shared memory, and what a window sees is found by adding two places, that
   of a pixel and that of an element of the window.

       GG_MODE       rows                    steps (summed up)          columns
       0 forward     pixels of the result    elements x channels        outputs
       1 by images   pixels of the images    elements x outputs         channels
       2 by filter   elements x channels     pixels of the result       outputs

   By images, pixels are taken apart by their phase (position modulo stride, blockIdx.z), so that of
   each phase the same elements of windows see them. Where there are too few blocks the steps are
   cut in parts (blockIdx.z), which gg_sum_parts adds up in order.

   filter (kd, kh, kw, channels, outputs). GG_PACK_A, GG_PACK_B: elements of a load, of the images
   and of the other. GG_BIAS, GG_CUT: a bias by output, then Relu (1) or Relu6 (2).

   variants: T=float GG_MODE=0,1,2 GG_LAST=0,1 GG_VOLUME=0 PLACE=int32_t GG_PACK_A=1 GG_PACK_B=4 GG_ROWS=128 GG_COLUMNS=128 GG_OWN_ROWS=8 GG_OWN_COLUMNS=8 GG_BIAS=1 GG_CUT=1
   variants: T=float,half GG_MODE=0,1,2 GG_LAST=1 GG_VOLUME=0,1 PLACE=int32_t GG_PACK_A=4 GG_PACK_B=4 GG_ROWS=128 GG_COLUMNS=128 GG_OWN_ROWS=8 GG_OWN_COLUMNS=8 GG_BIAS=0 GG_CUT=0
   variants: T=float GG_MODE=0,1,2 GG_LAST=1 GG_VOLUME=0 PLACE=int64_t GG_PACK_A=1,4 GG_PACK_B=4 GG_ROWS=128 GG_COLUMNS=64,32 GG_OWN_ROWS=8 GG_OWN_COLUMNS=4 GG_BIAS=0 GG_CUT=0
   variants: T=float,double GG_MODE=0,1,2 GG_LAST=0,1 GG_VOLUME=1 PLACE=int64_t GG_PACK_A=1 GG_PACK_B=1 GG_ROWS=64 GG_COLUMNS=64 GG_OWN_ROWS=4 GG_OWN_COLUMNS=4 GG_BIAS=1 GG_CUT=2 */

#include "windows.cuh"

#define GG_STEP (GG_OWN_ROWS == 8 ? 8 : 16)
#define GG_THREADS (GG_ROWS / GG_OWN_ROWS * (GG_COLUMNS / GG_OWN_COLUMNS))
#define GG_BLOCKS (GG_THREADS == 128 ? 3 : 2) /* at a time on a processor: what is left are 168, 128 registers */
#define GG_OUTSIDE (-(1 << 30))
#define GG_A_ALONG_STEPS ((GG_MODE == 2) != (GG_LAST != 0))
#define GG_B_ALONG_STEPS (GG_MODE == 1 || (GG_MODE == 2 && !GG_LAST))
#define GG_OUT_ALONG_ROWS (GG_MODE != 2 && !GG_LAST)

/* Along one axis, row w looks at w * stride + offset + e * step, e < count, of `size` positions; e
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

/* Where a row or a step is: in what windows look at (coordinates too), and in the other array. */
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

/* Which packs of a tile of `WIDTH` x GG_STEP elements a thread loads. */
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
    static __device__ __forceinline__ void store(T_VALUE (*tile)[WIDTH + 4], const gg_pack<T, PACK> *held) {
#pragma unroll
        for (int q = 0; q < each; q++) {
            if (!has(q)) continue;
            const int l = step(q), i = place(q);
            if (ALONG_STEPS) {
#pragma unroll
                for (int e = 0; e < PACK; e++) tile[l + e][i] = T_LOAD(held[q].of[e]);
            } else {
                gg_pack<T_VALUE, PACK> wide;
#pragma unroll
                for (int e = 0; e < PACK; e++) wide.of[e] = T_LOAD(held[q].of[e]);
                *(gg_pack<T_VALUE, PACK> *)&tile[l][i] = wide;
            }
        }
    }
};

typedef gg_share<GG_ROWS, GG_A_ALONG_STEPS, GG_PACK_A> gg_share_a;
typedef gg_share<GG_COLUMNS, GG_B_ALONG_STEPS, GG_PACK_B> gg_share_b;

GG_INLINE T_VALUE gg_finished(T_VALUE x, const T *bias, PLACE column) {
    if (GG_BIAS) x = T_LOAD(T_STORE(x)) + T_LOAD(bias[column]);
    if (GG_CUT && !(x >= (T_VALUE)0) && x == x) x = (T_VALUE)0;
    if (GG_CUT == 2 && x > (T_VALUE)6) x = (T_VALUE)6;
    return x;
}

/* source: the images, or the result's gradient (GG_MODE 1). other: the filter, or the result's
   gradient (GG_MODE 2). `splits` parts of `each` steps; parts[part, row, column] where there are
   several, else `out`. */
extern "C" __global__ void __launch_bounds__(GG_THREADS, GG_BLOCKS) gg_convolution(const T *source, const T *other, T *out, const T *bias, T_VALUE *parts, long long batch, long long depth, long long outputs, long long splits, long long each, GG_AXES) {
    alignas(32) __shared__ T_VALUE tile_a[2][GG_STEP][GG_ROWS + 4];
    alignas(32) __shared__ T_VALUE tile_b[2][GG_STEP][GG_COLUMNS + 4];
    __shared__ gg_work w; /* in shared memory, which leaves registers to the sums */
    __shared__ gg_entry row_entries[GG_ROWS];
    __shared__ gg_entry step_entries[2][GG_STEP];
    const int thread = threadIdx.x;

    const int split = (int)(blockIdx.z % splits);
    if (thread == 0) {
        GG_TAKE_AXES
        w = gg_work_of(x, y, z, batch, depth, outputs, (int)(blockIdx.z / splits));
    }
    __syncthreads();
    const PLACE rows = GG_MODE == 2 ? w.elements : w.pixels, steps = GG_MODE == 2 ? w.pixels : w.elements;
    const int columns = GG_MODE == 1 ? (int)depth : (int)outputs;
    const PLACE other_column = GG_MODE == 0 ? 1 : GG_MODE == 1 ? (PLACE)outputs : w.result.c;
    const PLACE out_column = GG_MODE == 2 ? 1 : w.result.c;

    const int across = (columns + GG_COLUMNS - 1) / GG_COLUMNS;
    const PLACE row0 = (PLACE)(blockIdx.x / across) * GG_ROWS;
    const int column0 = (int)(blockIdx.x % across) * GG_COLUMNS;
    if (row0 >= rows) return;
    const PLACE first = (PLACE)split * (PLACE)each;
    const PLACE stop = first + (PLACE)each < steps ? first + (PLACE)each : steps;

    for (int i = thread; i < GG_ROWS; i += GG_THREADS) row_entries[i] = gg_row_entry(w, row0 + i);
    if (thread < 2 * GG_STEP) step_entries[thread / GG_STEP][thread % GG_STEP] = gg_step_entry(w, first + thread, stop);
    __syncthreads();

    const bool aligned_a = gg_aligned<GG_PACK_A>(source), aligned_b = gg_aligned<GG_PACK_B>(other);
    gg_pack<T, GG_PACK_A> held_a[gg_share_a::each];
    gg_pack<T, GG_PACK_B> held_b[gg_share_b::each];
    auto load = [&](const gg_entry *entries) {
#pragma unroll
        for (int q = 0; q < gg_share_a::each; q++) {
            held_a[q] = gg_pack<T, GG_PACK_A>();
            if (!gg_share_a::has(q)) continue;
            const gg_entry row = row_entries[gg_share_a::place(q)], step = entries[gg_share_a::step(q)];
            if (gg_sees(w, row, step)) held_a[q] = gg_read<GG_PACK_A>(source + row.at + step.at, aligned_a);
        }
#pragma unroll
        for (int q = 0; q < gg_share_b::each; q++) {
            held_b[q] = gg_pack<T, GG_PACK_B>();
            if (!gg_share_b::has(q)) continue;
            const int column = column0 + gg_share_b::place(q);
            const gg_entry step = entries[gg_share_b::step(q)];
            if (column < columns && step.y != GG_OUTSIDE) held_b[q] = gg_read<GG_PACK_B>(other + step.other + column * other_column, aligned_b);
        }
    };

    T_VALUE sum[GG_OWN_ROWS][GG_OWN_COLUMNS];
#pragma unroll
    for (int i = 0; i < GG_OWN_ROWS; i++)
#pragma unroll
        for (int j = 0; j < GG_OWN_COLUMNS; j++) sum[i][j] = 0;
    constexpr int high = GG_ROWS / GG_OWN_ROWS, wide = GG_COLUMNS / GG_OWN_COLUMNS;
    const int own_row = (GG_OUT_ALONG_ROWS ? thread % high : thread / wide) * 4;
    const int own_column = (GG_OUT_ALONG_ROWS ? thread / high : thread % wide) * 4;

    int now = 0;
    load(step_entries[0]);
    gg_share_a::store(tile_a[0], held_a);
    gg_share_b::store(tile_b[0], held_b);
    __syncthreads();
    for (PLACE at = first; at < stop; at += GG_STEP) {
        const bool more = at + GG_STEP < stop;
        if (more) load(step_entries[now ^ 1]);
#pragma unroll 2
        for (int l = 0; l < GG_STEP; l++) {
            alignas(32) T_VALUE left[GG_OWN_ROWS], right[GG_OWN_COLUMNS];
#pragma unroll
            for (int i = 0; i < GG_OWN_ROWS; i += 4)
                *(gg_pack<T_VALUE, 4> *)(left + i) = *(const gg_pack<T_VALUE, 4> *)&tile_a[now][l][own_row + i * high];
#pragma unroll
            for (int j = 0; j < GG_OWN_COLUMNS; j += 4)
                *(gg_pack<T_VALUE, 4> *)(right + j) = *(const gg_pack<T_VALUE, 4> *)&tile_b[now][l][own_column + j * wide];
#pragma unroll
            for (int i = 0; i < GG_OWN_ROWS; i++)
#pragma unroll
                for (int j = 0; j < GG_OWN_COLUMNS; j++) sum[i][j] += left[i] * right[j];
        }
        if (!more) break;
        gg_share_a::store(tile_a[now ^ 1], held_a);
        gg_share_b::store(tile_b[now ^ 1], held_b);
        /* this step's entries were used before the last barrier */
        if (thread < GG_STEP) step_entries[now][thread] = gg_step_entry(w, at + 2 * GG_STEP + thread, stop);
        __syncthreads();
        now ^= 1;
    }

    const bool packed = out_column == 1 && columns % 4 == 0 && gg_aligned<4>(out);
#pragma unroll
    for (int i = 0; i < GG_OWN_ROWS; i++) {
        const int own = own_row + i % 4 + i / 4 * 4 * high;
        const PLACE row = row0 + own;
        if (row >= rows) continue;
        const PLACE begin = row_entries[own].other;
#pragma unroll
        for (int j = 0; j < GG_OWN_COLUMNS; j += 4) {
            const int column = column0 + own_column + j * wide;
            if (splits > 1) {
                T_VALUE *to = parts + ((long long)split * rows + row) * columns + column;
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (column + e < columns) to[e] = sum[i][j + e];
            } else if (packed && column < columns) {
                gg_pack<T, 4> made;
#pragma unroll
                for (int e = 0; e < 4; e++) made.of[e] = T_STORE(gg_finished(sum[i][j + e], bias, column + e));
                *(gg_pack<T, 4> *)(out + begin + column) = made;
            } else {
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (column + e < columns) out[begin + (column + e) * out_column] = T_STORE(gg_finished(sum[i][j + e], bias, column + e));
            }
        }
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
