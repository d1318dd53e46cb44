/* The attention of attention.cu by tensor cores (T. Dao, "FlashAttention-2", 2023), for float16
   and bfloat16: out = softmax(scale * q @ k' + mask) @ v for each entry of a batch.

   A block of 4 warps has 64 rows of q, a warp 16 of them, and processes the keys 64 at a time. A
   warp's rows of q, its scores and results stay in registers; probabilities, rounded to T, become
   the left matrix of the second product in place. The tile of v is copied while that of k is
   multiplied, and vice versa. HEAD: the head size, rounded up to a multiple of 32. BRAIN: T is
   bfloat16. ACROSS: k is (d, n). MASKED: whether there is a mask. STATISTICS: as in
   attention.cu. PACKED_Q, PACKED_K, PACKED_V: whether rows begin at multiples of 16 bytes.

   variants: T=half BRAIN=0 HEAD=32,64,96,128 ACROSS=0,1 MASKED=0,1 STATISTICS=0 PACKED_Q=1 PACKED_K=1 PACKED_V=1
   variants: T=bfloat16 BRAIN=1 HEAD=64,128 ACROSS=0 MASKED=0,1 STATISTICS=0,1 PACKED_Q=1 PACKED_K=1 PACKED_V=1
   variants: T=half BRAIN=0 HEAD=64,128 ACROSS=0,1 MASKED=1 STATISTICS=1 PACKED_Q=0 PACKED_K=0 PACKED_V=0,1 */

#include "attention_copies.cuh"

#define GG_WIDE (HEAD + GG_APART)
#define GG_KEYS_WIDE ((ACROSS ? GG_TILE : HEAD) + GG_APART)

/* Whether the registers do not suffice for three blocks at a time; masked heads of 64 need more on sm_100. */
#define GG_IS_LARGE (HEAD > 64 || (STATISTICS && !PACKED_K) || (MASKED && HEAD > 32 && __CUDA_ARCH__ / 100 == 10))

#if STATISTICS
#define GG_STATISTICS , float *statistics
#else
#define GG_STATISTICS
#endif

/* Reductions over the 4 lanes of a row. */
GG_INLINE float gg_most(float x) {
    x = fmaxf(x, gg_xor(x, 1));
    return fmaxf(x, gg_xor(x, 2));
}

GG_INLINE float gg_sum(float x) {
    x += gg_xor(x, 1);
    return x + gg_xor(x, 2);
}

extern "C" __global__ void __launch_bounds__(GG_THREADS, GG_IS_LARGE ? 2 : 3) gg_attention_mma(const T *q, const T *k, const T *v, const T *mask, T *out GG_STATISTICS, long long inner, long long m, long long n, long long d_, long long dv_, long long k_row, long long k_column, long long mask_outer, long long mask_inner, long long mask_row, long long mask_column, double scale_) {
    alignas(16) __shared__ T keys[(ACROSS ? HEAD : GG_TILE) * GG_KEYS_WIDE];
    alignas(16) __shared__ T values[GG_TILE * GG_WIDE];
    const int pair = threadIdx.x % 4 * 2, warp_row = threadIdx.x / 32 * 16, own_row = warp_row + threadIdx.x % 32 / 4;
    const int d = (int)d_, dv = (int)dv_;
    const unsigned tiles = (unsigned)((m + GG_TILE - 1) / GG_TILE), which = blockIdx.x / tiles;
    const long long row0 = (long long)(blockIdx.x - which * tiles) * GG_TILE;
    const int rows_left = (int)(m - row0 < GG_TILE ? m - row0 : GG_TILE);
    const float to_log2 = MASKED ? GG_LOG2_E : 1.0f; /* without a mask `scale` includes it */
    const float scale = (float)scale_ * (MASKED ? 1.0f : GG_LOG2_E);
    q += (which * m + row0) * d, k += which * n * d, v += which * n * dv, out += (which * m + row0) * dv;
    const long long k_apart = ACROSS ? k_column : k_row;
    if (MASKED) {
        mask += which / (unsigned)inner * mask_outer + which % (unsigned)inner * mask_inner;
        mask += (row0 + own_row) * mask_row + pair * mask_column;
    }
    auto fill_keys = [&](int left) {
        if (ACROSS) gg_fill<PACKED_K, HEAD, GG_TILE>(keys, k, d, left, k_apart);
        else gg_fill<PACKED_K, GG_TILE, HEAD>(keys, k, left, d, k_apart);
    };

    gg_fill<PACKED_Q, GG_TILE, HEAD>(values, q, rows_left, d, d);
    fill_keys((int)n);
    gg_wait_for_copies();
    __syncthreads();
    unsigned queries[HEAD / 16][4];
#pragma unroll
    for (int l = 0; l < HEAD / 16; l++) gg_left<false, GG_WIDE>(queries[l], values + warp_row * GG_WIDE + 16 * l);

    float largest[2] = {-INFINITY, -INFINITY}, total[2] = {}, result[HEAD / 8][4] = {};
    for (int left = (int)n; left > 0; left -= GG_TILE) {
        gg_wait_for_copies();
        __syncthreads(); /* the keys have arrived, the last values were used */
        gg_fill<PACKED_V, GG_TILE, HEAD>(values, v, left, dv, dv);
        float scores[GG_TILE / 8][4] = {};
#pragma unroll
        for (int l = 0; l < HEAD / 16; l++)
#pragma unroll
            for (int j = 0; j < GG_TILE / 16; j++) {
                unsigned right[4];
                gg_right<!ACROSS, GG_KEYS_WIDE>(right, keys + 16 * (ACROSS ? l * GG_KEYS_WIDE + j : j * GG_KEYS_WIDE + l));
                gg_mma<BRAIN>(scores[2 * j], queries[l], right[0], right[1]);
                gg_mma<BRAIN>(scores[2 * j + 1], queries[l], right[2], right[3]);
            }
        gg_wait_for_copies();
        __syncthreads(); /* the values have arrived, the keys were used */
        k += GG_TILE * k_row, v += (long long)GG_TILE * dv;
        if (left > GG_TILE) fill_keys(left - GG_TILE);

#pragma unroll
        for (int r = 0; r < 2; r++) {
            const bool has_row = own_row + 8 * r < rows_left;
            float most = -INFINITY, sum = 0;
#pragma unroll
            for (int at = 0; at < GG_TILE / 4; at++) {
                const int key = at / 2 * 8 + at % 2;
                float &score = scores[at / 2][2 * r + at % 2];
                score *= scale;
                if (MASKED && has_row && key + pair < left) score += (float)T_LOAD(mask[8 * r * mask_row + key * mask_column]);
                if (key + pair >= left) score = -INFINITY;
                most = fmaxf(most, score);
            }
            most = fmaxf(largest[r], gg_most(most));
            const float base = most == -INFINITY ? 0.0f : most; /* all are masked so far */
            const float kept = gg_exp2((largest[r] - base) * to_log2);
#pragma unroll
            for (int at = 0; at < GG_TILE / 4; at++) {
                float &score = scores[at / 2][2 * r + at % 2];
                score = gg_exp2((score - base) * to_log2);
                sum += score;
            }
            largest[r] = most;
            total[r] = total[r] * kept + sum; /* of this lane's keys */
#pragma unroll
            for (int j = 0; j < HEAD / 8; j++) result[j][2 * r] *= kept, result[j][2 * r + 1] *= kept;
        }
        if (MASKED) mask += GG_TILE * mask_column;

#pragma unroll
        for (int l = 0; l < GG_TILE / 16; l++) {
            unsigned chances[4]; /* of two tiles of scores */
#pragma unroll
            for (int i = 0; i < 4; i++) chances[i] = gg_two<BRAIN>(scores[2 * l + i / 2][i % 2 * 2], scores[2 * l + i / 2][i % 2 * 2 + 1]);
#pragma unroll
            for (int j = 0; j < HEAD / 16; j++) {
                unsigned right[4];
                gg_right<false, GG_WIDE>(right, values + 16 * (l * GG_WIDE + j));
                gg_mma<BRAIN>(result[2 * j], chances, right[0], right[1]);
                gg_mma<BRAIN>(result[2 * j + 1], chances, right[2], right[3]);
            }
        }
    }

    const bool by_two = dv % 2 == 0 && (unsigned long long)out % 4 == 0;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int row = own_row + 8 * r;
        const float sum = gg_sum(total[r]), share = 1.0f / sum;
        if (row >= rows_left) continue;
#if STATISTICS
        if (pair == 0) statistics[which * m + row0 + row] = largest[r] * (MASKED ? 1.0f : 1 / GG_LOG2_E) + logf(sum);
#endif
#pragma unroll
        for (int j = 0; j < HEAD / 8; j++) {
            const int column = 8 * j + pair;
            const unsigned two = gg_two<BRAIN>(result[j][2 * r] * share, result[j][2 * r + 1] * share);
            T *const to = out + row * dv + column;
            if (by_two) {
                if (column < dv) *(unsigned *)to = two;
            } else {
                if (column < dv) to[0] = (T)two;
                if (column + 1 < dv) to[1] = (T)(two >> 16);
            }
        }
    }
}
