/* The gradients of attention.cu (T. Dao et al., "FlashAttention", 2022), by two launches:

       p = exp(scale * q @ k' + mask - statistics)      ds = p * (dout @ v' - delta)
       dq = scale * ds @ k      dk = scale * ds' @ q      dv = p' @ dout

   p and ds are computed again from the rows' statistics (the logarithms of the sums of
   exponentials), and are never in memory. delta is the row sum of dout * out; the launch for dq
   stores it for the other one.

   A block has a tile of 64 rows, of q (BY_KEYS 0) or of k (BY_KEYS 1), and goes through the other
   rows 64 at a time. 16 x 16 threads: each has 4 x 4 of p and ds, and 4 rows by HEAD / 16 columns
   of each result. HEAD, MASKED: as in attention.cu.

   variants: T=float,half,bfloat16 HEAD=64,128 MASKED=0,1 BY_KEYS=0,1 */

#include "attention_tiles.cuh"

/* The matrix of T of one entry of the batch. */
struct gg_matrix {
    const T *at;
    long long row, column;
    int columns;
    __device__ const T *from(long long first, int column0) const { return at + first * row + column0 * column; }
};

/* sums[i][j] += the products of rows of a, from row a0 on, and of b, from row b0 on. */
GG_INLINE void gg_score(const gg_matrix &a, long long a0, int a_left, const gg_matrix &b, long long b0, int b_left, float *left, float *right, float (&sums)[4][4]) {
    const int tx = 4 * (threadIdx.x & 15), ty = 4 * (threadIdx.x >> 4);
    for (int c = 0; c < a.columns; c += GG_STEP) {
        __syncthreads();
        gg_turned(a.from(a0, c), left, GG_STEP, a_left, a.columns - c, (int)a.row, (int)a.column);
        gg_turned(b.from(b0, c), right, GG_STEP, b_left, b.columns - c, (int)b.row, (int)b.column);
        __syncthreads();
        gg_multiply<1>(left + ty, right + tx, GG_ROW, sums);
    }
}

/* results += weights' @ b, for rows of b from row b0 on; weights: [other][GG_ROW], own rows. */
GG_INLINE void gg_weigh(const float *weights, const gg_matrix &b, long long b0, int b_left, float *chunk, float (&results)[4][HEAD / 16]) {
    const int tx = 4 * (threadIdx.x & 15), ty = 4 * (threadIdx.x >> 4);
    for (int first = 0; first < GG_TILE && first < b_left; first += GG_STEP) {
        __syncthreads();
        const T *const from = b.from(b0 + first, 0);
        for (int at = threadIdx.x; at < GG_STEP * HEAD; at += 256) {
            const int row = b.column == 1 ? at / HEAD : at % GG_STEP, column = b.column == 1 ? at % HEAD : at / GG_STEP;
            const bool in = first + row < b_left && column < b.columns;
            chunk[row * (HEAD + 4) + column] = in ? (float)T_LOAD(from[row * (int)b.row + column * (int)b.column]) : 0.0f;
        }
        __syncthreads();
        gg_multiply<HEAD / 64>(weights + first * GG_ROW + ty, chunk + tx, HEAD + 4, results);
    }
}

GG_INLINE void gg_store(T *to, long long row, long long column, int rows_left, int columns, float scale, const float (&results)[4][HEAD / 16]) {
    const int tx = 4 * (threadIdx.x & 15), ty = 4 * (threadIdx.x >> 4);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < HEAD / 16; j++) {
            const int at = 64 * (j / 4) + tx + j % 4;
            if (ty + i < rows_left && at < columns) to[(ty + i) * row + at * column] = T_STORE(results[i][j] * scale);
        }
}

extern "C" __global__ void __launch_bounds__(256, BY_KEYS || HEAD > 64 ? 1 : 2) gg_attention_back(const T *q, const T *k, const T *v, const T *mask, const T *out, const float *statistics, const T *dout, float *delta, T *dq, T *dk, T *dv, long long inner, long long m, long long n, long long d, long long width, long long k_row, long long k_column, long long dk_row, long long dk_column, long long mask_outer, long long mask_inner, long long mask_row, long long mask_column, double scale_) {
    __shared__ float weights[GG_TILE * GG_ROW];     /* [GG_TILE][GG_ROW]: other row, own row */
    __shared__ float chunk[2 * GG_STEP * GG_ROW]; /* two times [GG_STEP][GG_ROW], or [GG_STEP][HEAD + 4] */
    const int tx = 4 * (threadIdx.x & 15), ty = 4 * (threadIdx.x >> 4);
    const long long rows = BY_KEYS ? n : m, others = BY_KEYS ? m : n;
    const unsigned tiles = (unsigned)((rows + GG_TILE - 1) / GG_TILE), which = blockIdx.x / tiles;
    const long long row0 = (long long)(blockIdx.x - which * tiles) * GG_TILE;
    const int rows_left = (int)(rows - row0 < GG_TILE ? rows - row0 : GG_TILE);
    const float scale = (float)scale_;
    const gg_matrix queries = {q + which * m * d, d, 1, (int)d}, keys = {k + which * n * d, k_row, k_column, (int)d};
    const gg_matrix values = {v + which * n * width, width, 1, (int)width}, back = {dout + which * m * width, width, 1, (int)width};
    const gg_matrix &own = BY_KEYS ? keys : queries, &own_back = BY_KEYS ? values : back;
    const gg_matrix &other = BY_KEYS ? queries : keys, &other_back = BY_KEYS ? back : values;
    statistics += which * m, delta += which * m;
    if (MASKED) mask += which / (unsigned)inner * mask_outer + which % (unsigned)inner * mask_inner;

    float base[4], mean[4]; /* of this thread's queries: own rows, or other ones of each tile */
    if (!BY_KEYS)
        for (int i = 0; i < 4; i++) {
            const bool in = ty + i < rows_left;
            const T *const one = back.from(row0 + ty + i, 0), *const two = out + (which * m + row0 + ty + i) * width;
            float sum = 0;
            for (int column = threadIdx.x & 15; in && column < width; column += 16) sum += (float)T_LOAD(one[column]) * (float)T_LOAD(two[column]);
            mean[i] = gg_along<gg_sum>(sum);
            base[i] = in ? statistics[row0 + ty + i] : 0.0f;
            if (in && tx == 0) delta[row0 + ty + i] = mean[i];
        }

    float result[4][HEAD / 16] = {}, value_result[4][HEAD / 16] = {};
    for (long long other0 = 0; other0 < others; other0 += GG_TILE) {
        const int left = (int)(others - other0 < GG_TILE ? others - other0 : GG_TILE);
        float p[4][4] = {}, ds[4][4] = {};
        gg_score(own, row0, rows_left, other, other0, left, chunk, chunk + GG_STEP * GG_ROW, p);
        gg_score(own_back, row0, rows_left, other_back, other0, left, chunk, chunk + GG_STEP * GG_ROW, ds);
        if (BY_KEYS)
            for (int j = 0; j < 4; j++) {
                const bool in = tx + j < left;
                base[j] = in ? statistics[other0 + tx + j] : 0.0f;
                mean[j] = in ? delta[other0 + tx + j] : 0.0f;
            }
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                const bool in = ty + i < rows_left && tx + j < left;
                const int of_query = BY_KEYS ? j : i;
                const long long query = BY_KEYS ? other0 + tx + j : row0 + ty + i, key = BY_KEYS ? row0 + ty + i : other0 + tx + j;
                float score = p[i][j] * scale;
                if (MASKED && in) score += (float)T_LOAD(mask[query * mask_row + key * mask_column]);
                p[i][j] = in ? expf(score - base[of_query]) : 0.0f;
                ds[i][j] = in ? p[i][j] * (ds[i][j] - mean[of_query]) : 0.0f;
                if (BY_KEYS) weights[(tx + j) * GG_ROW + ty + i] = p[i][j];
            }
        if (BY_KEYS) {
            gg_weigh(weights, other_back, other0, left, chunk, value_result);
            __syncthreads();
        }
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) weights[(tx + j) * GG_ROW + ty + i] = ds[i][j];
        gg_weigh(weights, other, other0, left, chunk, result);
    }
    if (BY_KEYS) {
        gg_store(dk + which * n * d + row0 * dk_row, dk_row, dk_column, rows_left, (int)d, scale, result);
        gg_store(dv + (which * n + row0) * width, width, 1, rows_left, (int)width, 1.0f, value_result);
    } else {
        gg_store(dq + (which * m + row0) * d, d, 1, rows_left, (int)d, scale, result);
    }
}
