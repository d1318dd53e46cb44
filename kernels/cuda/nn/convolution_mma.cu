/* The convolutions of convolution.cu by tensor cores, for float16 and bfloat16 (BRAIN), summed up in
   float. A warp has GG_OWN_ROWS x GG_OWN_COLUMNS of a block's tile; tiles lie in shared memory as
   they lie in the arrays, along their steps or not. Other macros: see convolution.cu.

   variants: T=half BRAIN=0 GG_MODE=0,1,2 GG_LAST=1 GG_VOLUME=0,1 PLACE=int32_t GG_PACK_A=8 GG_PACK_B=8 GG_ALIGNED_A=1 GG_ALIGNED_B=1 GG_ROWS=128 GG_COLUMNS=64 GG_OWN_ROWS=64 GG_OWN_COLUMNS=32 GG_BIAS=1 GG_CUT=1
   variants: T=bfloat16 BRAIN=1 GG_MODE=0,1,2 GG_LAST=1 GG_VOLUME=1 PLACE=int64_t GG_PACK_A=8 GG_PACK_B=8 GG_ALIGNED_A=1 GG_ALIGNED_B=1 GG_ROWS=128 GG_COLUMNS=64 GG_OWN_ROWS=64 GG_OWN_COLUMNS=32 GG_BIAS=0 GG_CUT=0
   variants: T=half BRAIN=0 GG_MODE=0,1,2 GG_LAST=1 GG_VOLUME=0 PLACE=int32_t,int64_t GG_PACK_A=8 GG_PACK_B=8 GG_ALIGNED_A=1 GG_ALIGNED_B=1 GG_ROWS=128 GG_COLUMNS=32 GG_OWN_ROWS=32 GG_OWN_COLUMNS=32 GG_BIAS=0 GG_CUT=0
   variants: T=half BRAIN=0 GG_MODE=0,1,2 GG_LAST=1 GG_VOLUME=0 PLACE=int32_t GG_PACK_A=8 GG_PACK_B=8 GG_ALIGNED_A=1 GG_ALIGNED_B=1 GG_ROWS=64 GG_COLUMNS=64 GG_OWN_ROWS=32 GG_OWN_COLUMNS=32 GG_BIAS=0 GG_CUT=0
   variants: T=half BRAIN=0 GG_MODE=0,1,2 GG_LAST=1 GG_VOLUME=0 PLACE=int32_t GG_PACK_A=1 GG_PACK_B=1,8 GG_ALIGNED_A=1 GG_ALIGNED_B=1 GG_ROWS=64 GG_COLUMNS=64 GG_OWN_ROWS=32 GG_OWN_COLUMNS=32 GG_BIAS=1 GG_CUT=2
   variants: T=half BRAIN=0 GG_MODE=0,1,2 GG_LAST=1 GG_VOLUME=0,1 PLACE=int64_t GG_PACK_A=4 GG_PACK_B=4 GG_ALIGNED_A=1 GG_ALIGNED_B=1 GG_ROWS=64 GG_COLUMNS=64 GG_OWN_ROWS=32 GG_OWN_COLUMNS=32 GG_BIAS=0 GG_CUT=0
   variants: T=half BRAIN=0 GG_MODE=0,1,2 GG_LAST=1 GG_VOLUME=0 PLACE=int32_t GG_PACK_A=8 GG_PACK_B=8 GG_ALIGNED_A=0 GG_ALIGNED_B=0 GG_ROWS=128 GG_COLUMNS=64 GG_OWN_ROWS=64 GG_OWN_COLUMNS=32 GG_BIAS=0 GG_CUT=0 */

#define GG_STEP 32
#define GG_THREADS (GG_ROWS / GG_OWN_ROWS * (GG_COLUMNS / GG_OWN_COLUMNS) * 32)
#define GG_BLOCKS (GG_PACK_A == 8 && GG_PACK_B == 8 ? 3 : 2) /* this leaves 168, 255 registers */

#define GG_HELD(PACK) gg_moved<sizeof(T) * PACK>

#include "tensor_core_mma.cuh"
#include "convolution_tiles.cuh"

#define GG_WIDE_A ((GG_A_ALONG_STEPS ? GG_STEP : GG_ROWS) + GG_APART)
#define GG_WIDE_B ((GG_B_ALONG_STEPS ? GG_STEP : GG_COLUMNS) + GG_APART)

template <class Share, bool AlongSteps, int Wide, class Held> GG_INLINE void gg_store(T *tile, const Held *held) {
#pragma unroll
    for (int q = 0; q < Share::each; q++) {
        if (!Share::has(q)) continue;
        const int l = Share::step(q), i = Share::place(q);
        *(Held *)(tile + (AlongSteps ? i * Wide + l : l * Wide + i)) = held[q];
    }
}

/* The parameters are those of convolution.cu. */
extern "C" __global__ void __launch_bounds__(GG_THREADS, GG_BLOCKS) gg_convolution_mma(const T *source, const T *other, T *out, const T *bias, T_VALUE *parts, long long batch, long long depth, long long outputs, long long splits, long long each, GG_AXES) {
    alignas(16) __shared__ T tile_a[2][(GG_A_ALONG_STEPS ? GG_ROWS : GG_STEP) * GG_WIDE_A];
    alignas(16) __shared__ T tile_b[2][(GG_B_ALONG_STEPS ? GG_COLUMNS : GG_STEP) * GG_WIDE_B];
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
        gg_store<gg_share_a, GG_A_ALONG_STEPS, GG_WIDE_A>(tile_a[to], held.a);
        gg_store<gg_share_b, GG_B_ALONG_STEPS, GG_WIDE_B>(tile_b[to], held.b);
    };

    float sum[GG_OWN_ROWS / 16][GG_OWN_COLUMNS / 8][4] = {};
    const int warp = thread / 32;
    const int own_row = warp % (GG_ROWS / GG_OWN_ROWS) * GG_OWN_ROWS, own_column = warp / (GG_ROWS / GG_OWN_ROWS) * GG_OWN_COLUMNS;
    int now = 0;
    load(step_entries[0]);
    store(0);
    __syncthreads();
    for (PLACE at = p.first; at < p.stop; at += GG_STEP) {
        const bool more = at + GG_STEP < p.stop;
        if (more) load(step_entries[now ^ 1]);
#pragma unroll
        for (int l = 0; l < GG_STEP; l += 16) {
            unsigned left[GG_OWN_ROWS / 16][4];
#pragma unroll
            for (int i = 0; i < GG_OWN_ROWS / 16; i++) {
                const int row = own_row + 16 * i;
                gg_left<!GG_A_ALONG_STEPS, GG_WIDE_A>(left[i], tile_a[now] + (GG_A_ALONG_STEPS ? row * GG_WIDE_A + l : l * GG_WIDE_A + row));
            }
#pragma unroll
            for (int j = 0; j < GG_OWN_COLUMNS / 16; j++) {
                unsigned right[4];
                const int column = own_column + 16 * j;
                gg_right<GG_B_ALONG_STEPS, GG_WIDE_B>(right, tile_b[now] + (GG_B_ALONG_STEPS ? column * GG_WIDE_B + l : l * GG_WIDE_B + column));
#pragma unroll
                for (int i = 0; i < GG_OWN_ROWS / 16; i++) {
                    gg_mma<BRAIN>(sum[i][2 * j], left[i], right[0], right[1]);
                    gg_mma<BRAIN>(sum[i][2 * j + 1], left[i], right[2], right[3]);
                }
            }
        }
        if (!more) break;
        store(now ^ 1);
        /* this step's entries were used before the last barrier */
        if (thread < GG_STEP) step_entries[now][thread] = gg_step_entry(w, at + 2 * GG_STEP + thread, p.stop);
        __syncthreads();
        now ^= 1;
    }

    const bool packed = gg_packed<2>(p, out);
#pragma unroll
    for (int i = 0; i < GG_OWN_ROWS / 8; i++) {
        const int own = own_row + 8 * i + thread % 32 / 4;
        const PLACE row = p.row0 + own;
        if (row >= p.rows) continue;
        const PLACE begin = row_entries[own].other;
#pragma unroll
        for (int j = 0; j < GG_OWN_COLUMNS / 8; j++) gg_put<2>(sum[i / 2][j] + i % 2 * 2, p, row, begin, p.column0 + own_column + 8 * j + thread % 4 * 2, packed, out, bias, parts);
    }
}
