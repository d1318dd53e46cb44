/* Convolution of images and volumes, and its gradients, as products of matrices that are never
   stored: tiles go through shared memory, and the index of an input is the sum of two offsets,
   that of a pixel and that of an element of the window.

       GG_MODE       rows                    steps (summed up)          columns
       0 forward     pixels of the result    elements x channels        outputs
       1 by images   pixels of the images    elements x outputs         channels
       2 by filter   elements x channels     pixels of the result       outputs

   By images, pixels are grouped by their phase (position modulo stride, blockIdx.z): pixels of
   one phase are inputs of the same elements of windows. If there are too few blocks, the steps
   are divided into parts (blockIdx.z), which gg_sum_parts adds up in order.

   filter (kd, kh, kw, channels, outputs). GG_PACK_A, GG_PACK_B: elements of a load, of the images
   and of the other operand; GG_ALIGNED_A, GG_ALIGNED_B: whether the arrays begin at multiples of
   their size. GG_BIAS, GG_CUT: a bias by output, then Relu (1) or Relu6 (2).

   variants: T=float GG_MODE=0,1,2 GG_LAST=0,1 GG_VOLUME=0 PLACE=int32_t GG_PACK_A=1 GG_PACK_B=4 GG_ALIGNED_A=1 GG_ALIGNED_B=1 GG_ROWS=128 GG_COLUMNS=128 GG_OWN_ROWS=8 GG_OWN_COLUMNS=8 GG_BIAS=1 GG_CUT=1
   variants: T=float,half GG_MODE=0,1,2 GG_LAST=1 GG_VOLUME=0,1 PLACE=int32_t GG_PACK_A=4 GG_PACK_B=4 GG_ALIGNED_A=1 GG_ALIGNED_B=1 GG_ROWS=128 GG_COLUMNS=128 GG_OWN_ROWS=8 GG_OWN_COLUMNS=8 GG_BIAS=0 GG_CUT=0
   variants: T=float GG_MODE=0,1,2 GG_LAST=1 GG_VOLUME=0 PLACE=int64_t GG_PACK_A=1,4 GG_PACK_B=4 GG_ALIGNED_A=1 GG_ALIGNED_B=1 GG_ROWS=128 GG_COLUMNS=64,32 GG_OWN_ROWS=8 GG_OWN_COLUMNS=4 GG_BIAS=0 GG_CUT=0
   variants: T=float,double GG_MODE=0,1,2 GG_LAST=0,1 GG_VOLUME=1 PLACE=int64_t GG_PACK_A=1 GG_PACK_B=1 GG_ALIGNED_A=1 GG_ALIGNED_B=1 GG_ROWS=64 GG_COLUMNS=64 GG_OWN_ROWS=4 GG_OWN_COLUMNS=4 GG_BIAS=1 GG_CUT=2 */

#define GG_STEP (GG_OWN_ROWS == 8 ? 8 : 16)
#define GG_THREADS (GG_ROWS / GG_OWN_ROWS * (GG_COLUMNS / GG_OWN_COLUMNS))
#define GG_BLOCKS (GG_THREADS == 128 ? 3 : 2) /* resident: 168, 128 registers */

#define GG_HELD(PACK) gg_pack<T, PACK>

#include "convolution_tiles.cuh"

template <class Share, int WIDTH, int PACK> GG_INLINE void gg_store(T_VALUE (*tile)[WIDTH + 4], const gg_pack<T, PACK> *held, bool along_steps) {
#pragma unroll
    for (int q = 0; q < Share::each; q++) {
        if (!Share::has(q)) continue;
        const int l = Share::step(q), i = Share::place(q);
        if (along_steps) {
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

/* source: the images, or the result's gradient (GG_MODE 1). other: the filter, or the result's
   gradient (GG_MODE 2). `splits` parts of `each` steps; the target is parts[part, row, column] if
   there are several, else `out`. */
extern "C" __global__ void __launch_bounds__(GG_THREADS, GG_BLOCKS) gg_convolution(const T *source, const T *other, T *out, const T *bias, T_VALUE *parts, long long batch, long long depth, long long outputs, long long splits, long long each, GG_AXES) {
    alignas(32) __shared__ T_VALUE tile_a[2][GG_STEP][GG_ROWS + 4];
    alignas(32) __shared__ T_VALUE tile_b[2][GG_STEP][GG_COLUMNS + 4];
    __shared__ gg_work w; /* in shared memory, which leaves registers to the sums */
    __shared__ gg_entry row_entries[GG_ROWS];
    __shared__ gg_entry step_entries[2][GG_STEP];
    const int thread = threadIdx.x;

    if (thread == 0) {
        GG_TAKE_AXES
        w = gg_work_of(x, y, z, batch, depth, outputs, (int)(blockIdx.z / splits));
    }
    __syncthreads();
    const gg_part p = gg_part_of(w, depth, outputs, splits, each);
    if (p.row0 >= p.rows) return;
    for (int i = thread; i < GG_ROWS; i += GG_THREADS) row_entries[i] = gg_row_entry(w, p.row0 + i);
    if (thread < 2 * GG_STEP) step_entries[thread / GG_STEP][thread % GG_STEP] = gg_step_entry(w, p.first + thread, p.stop);
    __syncthreads();

    gg_held held;
    auto load = [&](const gg_entry *entries) { gg_load(held, w, p, row_entries, entries, source, other); };
    auto store = [&](int to) {
        gg_store<gg_share_a, GG_ROWS>(tile_a[to], held.a, GG_A_ALONG_STEPS);
        gg_store<gg_share_b, GG_COLUMNS>(tile_b[to], held.b, GG_B_ALONG_STEPS);
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
    store(0);
    __syncthreads();
    for (PLACE at = p.first; at < p.stop; at += GG_STEP) {
        const bool more = at + GG_STEP < p.stop;
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
        store(now ^ 1);
        /* this step's entries were used before the last barrier */
        if (thread < GG_STEP) step_entries[now][thread] = gg_step_entry(w, at + 2 * GG_STEP + thread, p.stop);
        __syncthreads();
        now ^= 1;
    }

    const bool packed = gg_packed<4>(p, out);
#pragma unroll
    for (int i = 0; i < GG_OWN_ROWS; i++) {
        const int own = own_row + i % 4 + i / 4 * 4 * high;
        const PLACE row = p.row0 + own;
        if (row >= p.rows) continue;
        const PLACE begin = row_entries[own].other;
#pragma unroll
        for (int j = 0; j < GG_OWN_COLUMNS; j += 4) gg_put<4>(sum[i] + j, p, row, begin, p.column0 + own_column + j * wide, packed, out, bias, parts);
    }
}
