/* Attention with an online softmax (M. Milakov and N. Gimelshein, "Online normalizer
   calculation for softmax", 2018; T. Dao et al., "FlashAttention", 2022):

       out = softmax(scale * q @ k' + mask) @ v         q: (m, d), k: (n, d), v: (n, dv)

   for each entry of a batch. A block has 64 rows of q and processes the keys 64 at a time; the
   scores are never in memory. 16 x 16 threads: each has 4 x 4 of the scores, and 4 rows by HEAD /
   16 columns of the result. HEAD: the head size, rounded up to 64 or 128. MASKED: whether there
   is a mask. STATISTICS: whether the logarithm of each row's sum of exponentials is stored, for
   attention_gradient.cu.

   variants: T=float,half,bfloat16 HEAD=64,128 MASKED=0,1 STATISTICS=0,1 */

#include "attention_tiles.cuh"

#if STATISTICS
#define GG_STATISTICS , float *statistics
#else
#define GG_STATISTICS
#endif

GG_INLINE float gg_more(float x, float y) { return fmaxf(x, y); }

extern "C" __global__ void __launch_bounds__(256, 2) gg_attention(const T *q, const T *k, const T *v, const T *mask, T *out GG_STATISTICS, long long inner, long long m, long long n, long long d_, long long dv_, long long k_row_, long long k_column_, long long mask_outer, long long mask_inner, long long mask_row, long long mask_column, double scale_) {
    extern __shared__ __align__(16) float gg_memory[];
    float *const queries = gg_memory;                /* [HEAD][GG_ROW]: column, row */
    float *const chances = queries + HEAD * GG_ROW;  /* [GG_TILE][GG_ROW]: key, row */
    float *const chunk = chances + GG_TILE * GG_ROW; /* [GG_STEP][GG_ROW] of k, [GG_STEP][HEAD + 4] of v */
    const int tx = 4 * (threadIdx.x & 15), ty = 4 * (threadIdx.x >> 4);
    const int d = (int)d_, dv = (int)dv_, k_row = (int)k_row_, k_column = (int)k_column_;
    const unsigned tiles = (unsigned)((m + GG_TILE - 1) / GG_TILE), which = blockIdx.x / tiles;
    const long long row0 = (long long)(blockIdx.x - which * tiles) * GG_TILE;
    const int rows_left = (int)(m - row0 < GG_TILE ? m - row0 : GG_TILE);
    const float scale = (float)scale_;
    k += which * n * d, v += which * n * dv;
    gg_turned(q + (which * m + row0) * d, queries, HEAD, rows_left, d, d, 1);
    if (MASKED) {
        mask += which / (unsigned)inner * mask_outer + which % (unsigned)inner * mask_inner;
        mask += (row0 + ty) * mask_row + tx * mask_column;
    }
    float largest[4], total[4], result[4][HEAD / 16];
    for (int i = 0; i < 4; i++) {
        largest[i] = -INFINITY, total[i] = 0;
        for (int j = 0; j < HEAD / 16; j++) result[i][j] = 0;
    }
    for (int left = (int)n; left > 0; left -= GG_TILE) {
        float s[4][4] = {};
        for (int d0 = 0; d0 < d; d0 += GG_STEP) {
            __syncthreads();
            gg_turned(k + d0 * k_column, chunk, GG_STEP, left, d - d0, k_row, k_column);
            __syncthreads();
            gg_multiply<1>(queries + d0 * GG_ROW + ty, chunk + tx, GG_ROW, s);
        }
        for (int i = 0; i < 4; i++) {
            float most = -INFINITY, sum = 0;
            for (int j = 0; j < 4; j++) {
                s[i][j] *= scale;
                if (MASKED && ty + i < rows_left && tx + j < left)
                    s[i][j] += (float)T_LOAD(mask[i * mask_row + j * mask_column]);
                if (tx + j >= left) s[i][j] = -INFINITY;
                most = fmaxf(most, s[i][j]);
            }
            most = fmaxf(largest[i], gg_along<gg_more>(most));
            const float base = most == -INFINITY ? 0.0f : most; /* all are masked so far */
            const float kept = expf(largest[i] - base);
            for (int j = 0; j < 4; j++) {
                const float chance = expf(s[i][j] - base);
                sum += chance;
                chances[(tx + j) * GG_ROW + ty + i] = chance;
            }
            total[i] = total[i] * kept + gg_along<gg_sum>(sum);
            largest[i] = most;
            for (int j = 0; j < HEAD / 16; j++) result[i][j] *= kept;
        }
        for (int first = 0; first < GG_TILE && first < left; first += GG_STEP) {
            __syncthreads();
            for (int at = threadIdx.x; at < GG_STEP * HEAD; at += 256) {
                const int key = first + at / HEAD, column = at % HEAD;
                const bool in = key < left && column < dv;
                chunk[at / HEAD * (HEAD + 4) + column] = in ? (float)T_LOAD(v[key * dv + column]) : 0.0f;
            }
            __syncthreads();
            gg_multiply<HEAD / 64>(chances + first * GG_ROW + ty, chunk + tx, HEAD + 4, result);
        }
        k += GG_TILE * k_row, v += GG_TILE * dv, mask += GG_TILE * mask_column;
    }
#if STATISTICS
    if (tx == 0)
        for (int i = 0; i < 4; i++)
            if (ty + i < rows_left) statistics[which * m + row0 + ty + i] = largest[i] + logf(total[i]);
#endif
    out += (which * m + row0) * dv;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < HEAD / 16; j++) {
            const int column = 64 * (j / 4) + tx + j % 4;
            if (ty + i < rows_left && column < dv) out[(ty + i) * dv + column] = T_STORE(result[i][j] / total[i]);
        }
}
