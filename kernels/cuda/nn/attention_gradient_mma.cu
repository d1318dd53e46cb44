/* The gradients of attention_gradient.cu by tensor cores (T. Dao, "FlashAttention-2", 2023), for
   float16 and bfloat16.

   A block of 4 warps has 64 rows, of q (BY_KEYS 0) or of k (BY_KEYS 1), a warp 16 of them, and goes
   through the other rows GG_OTHERS at a time, of which the next ones are copied meanwhile. p and
   ds, rounded to T, become the left matrices of products in place. HEAD: the head size, rounded up
   to a multiple of 32. BRAIN, ACROSS, MASKED, PACKED_Q, PACKED_K, PACKED_V: as in attention_mma.cu.
   PACKED_D: whether rows of dout begin at multiples of 16 bytes.

   variants: T=half BRAIN=0 HEAD=32,64,96,128 ACROSS=0,1 MASKED=0,1 BY_KEYS=0,1 PACKED_Q=1 PACKED_K=1 PACKED_V=1 PACKED_D=1
   variants: T=bfloat16 BRAIN=1 HEAD=64,128 ACROSS=0 MASKED=0,1 BY_KEYS=0,1 PACKED_Q=1 PACKED_K=1 PACKED_V=1 PACKED_D=1
   variants: T=half BRAIN=0 HEAD=64,128 ACROSS=0,1 MASKED=1 BY_KEYS=0,1 PACKED_Q=0 PACKED_K=0 PACKED_V=0,1 PACKED_D=0 */

#include "attention_copies.cuh"

#define GG_OTHERS (HEAD <= 64 ? 64 : MASKED ? 16 : 32) /* more would need too many registers */
#define GG_WIDE (HEAD + GG_APART)
#define GG_OWN_ACROSS (ACROSS && BY_KEYS)
#define GG_OTHER_ACROSS (ACROSS && !BY_KEYS)
#define GG_OWN_WIDE ((GG_OWN_ACROSS ? GG_TILE : HEAD) + GG_APART)
#define GG_OTHER_WIDE ((GG_OTHER_ACROSS ? GG_OTHERS : HEAD) + GG_APART)
#define GG_OWN_SIZE ((GG_OWN_ACROSS ? HEAD : GG_TILE) * GG_OWN_WIDE)
#define GG_OTHER_SIZE ((GG_OTHER_ACROSS ? HEAD : GG_OTHERS) * GG_OTHER_WIDE)
#define GG_KEPT (HEAD <= 64) /* whether the own rows are in registers */
/* the unrolled steps of the loop over columns: 4 where all would spill registers, otherwise all */
#define GG_AT_ONCE (MASKED && BY_KEYS && HEAD > 64 && (__CUDA_ARCH__ >= 1200 ? ACROSS || !PACKED_Q : __CUDA_ARCH__ >= 1000) ? 4 : HEAD / 16)

/* Copies rows of columns, or columns of rows (Across) with the distance `apart`. */
template <bool Packed, bool Across, int Rows> GG_INLINE void gg_fill_rows(T *to, const T *from, int rows_left, int columns, long long apart) {
    if (Across) gg_fill<Packed, HEAD, Rows>(to, from, columns, rows_left, apart);
    else gg_fill<Packed, Rows, HEAD>(to, from, rows_left, columns, apart);
}

/* The left matrix of 16 own rows and 16 columns from 16 * l on. */
template <bool Across, int Wide> GG_INLINE void gg_own(unsigned (&a)[4], const T *tile, int warp_row, int l) {
    gg_left<Across, Wide>(a, tile + (Across ? 16 * l * Wide + warp_row : warp_row * Wide + 16 * l));
}

/* scores += the products of a left matrix and of all other rows, 16 columns from 16 * l on. */
template <bool Across, int Wide> GG_INLINE void gg_score(float (&scores)[GG_OTHERS / 8][4], const unsigned (&left)[4], const T *others, int l) {
#pragma unroll
    for (int j = 0; j < GG_OTHERS / 16; j++) {
        unsigned right[4];
        gg_right<!Across, Wide>(right, others + 16 * (Across ? l * Wide + j : j * Wide + l));
        gg_mma<BRAIN>(scores[2 * j], left, right[0], right[1]);
        gg_mma<BRAIN>(scores[2 * j + 1], left, right[2], right[3]);
    }
}

/* results += weights (a row for each own row) @ other rows. */
template <bool Across, int Wide> GG_INLINE void gg_weigh(float (&results)[HEAD / 8][4], const float (&weights)[GG_OTHERS / 8][4], const T *others) {
#pragma unroll
    for (int l = 0; l < GG_OTHERS / 16; l++) {
        unsigned left[4];
#pragma unroll
        for (int i = 0; i < 4; i++) left[i] = gg_two<BRAIN>(weights[2 * l + i / 2][i % 2 * 2], weights[2 * l + i / 2][i % 2 * 2 + 1]);
#pragma unroll
        for (int j = 0; j < HEAD / 16; j++) {
            unsigned right[4];
            gg_right<Across, Wide>(right, others + 16 * (Across ? j * Wide + l : l * Wide + j));
            gg_mma<BRAIN>(results[2 * j], left, right[0], right[1]);
            gg_mma<BRAIN>(results[2 * j + 1], left, right[2], right[3]);
        }
    }
}

/* Stores this lane's part of 16 rows. */
GG_INLINE void gg_store(T *to, long long row, long long column, int own_row, int rows_left, int columns, float scale, const float (&results)[HEAD / 8][4]) {
    const int pair = threadIdx.x % 4 * 2;
    const bool by_two = column == 1 && columns % 2 == 0 && (unsigned long long)to % 4 == 0;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        if (own_row + 8 * r >= rows_left) continue;
        T *const at = to + (own_row + 8 * r) * row;
#pragma unroll
        for (int j = 0; j < HEAD / 8; j++) {
            const int first = 8 * j + pair;
            const unsigned two = gg_two<BRAIN>(results[j][2 * r] * scale, results[j][2 * r + 1] * scale);
            if (by_two) {
                if (first < columns) *(unsigned *)(at + first) = two;
            } else {
                if (first < columns) at[first * column] = (T)two;
                if (first + 1 < columns) at[(first + 1) * column] = (T)(two >> 16);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(GG_THREADS, 2) gg_attention_back_mma(const T *q, const T *k, const T *v, const T *mask, const T *out, const float *statistics, const T *dout, float *delta, T *dq, T *dk, T *dv, long long inner, long long m, long long n, long long d_, long long width_, long long k_row, long long k_column, long long dk_row, long long dk_column, long long mask_outer, long long mask_inner, long long mask_row, long long mask_column, double scale_) {
    extern __shared__ __align__(16) T gg_memory[];
    __shared__ float numbers[2][2][64]; /* of two tiles of queries: the statistics, delta */
    T *const own = gg_memory, *const own_back = own + GG_OWN_SIZE, *const others_at = own_back + GG_TILE * GG_WIDE;
    const int pair = threadIdx.x % 4 * 2, warp_row = threadIdx.x / 32 * 16, own_row = warp_row + threadIdx.x % 32 / 4;
    const int d = (int)d_, width = (int)width_;
    const int rows = (int)(BY_KEYS ? n : m), others = (int)(BY_KEYS ? m : n); /* at most 2^24 */
    const unsigned tiles = (unsigned)(rows + GG_TILE - 1) / GG_TILE, which = blockIdx.x / tiles;
    const long long row0 = (blockIdx.x - which * tiles) * GG_TILE;
    const int rows_left = min(rows - (int)row0, GG_TILE);
    const float scale = (float)scale_;
    const long long k_apart = ACROSS ? k_column : k_row, k_step = ACROSS ? 1 : k_row;
    q += which * m * d, k += which * n * d, v += which * n * width, dout += which * m * width;
    statistics += which * m, delta += which * m;
    const int mask_own = (int)(BY_KEYS ? mask_column : mask_row), mask_other = (int)(BY_KEYS ? mask_row : mask_column);
    if (MASKED) {
        mask += which / (unsigned)inner * mask_outer + which % (unsigned)inner * mask_inner;
        mask += (row0 + own_row) * mask_own;
    }

    auto fill_others = [&](int first, int buffer) {
        T *const to = others_at + buffer * (GG_OTHER_SIZE + GG_OTHERS * GG_WIDE), *const to_back = to + GG_OTHER_SIZE;
        const int left = min(others - first, GG_OTHERS);
        if (BY_KEYS) {
            gg_fill_rows<PACKED_Q, false, GG_OTHERS>(to, q + (long long)first * d, left, d, d);
            gg_fill_rows<PACKED_D, false, GG_OTHERS>(to_back, dout + (long long)first * width, left, width, width);
            if (threadIdx.x < 2 * GG_OTHERS) {
                const int what = threadIdx.x / GG_OTHERS, at = threadIdx.x % GG_OTHERS;
                numbers[buffer][what][at] = at < left ? (what ? delta : statistics)[first + at] : 0.0f;
            }
        } else {
            gg_fill_rows<PACKED_K, ACROSS, GG_OTHERS>(to, k + first * k_step, left, d, k_apart);
            gg_fill_rows<PACKED_V, false, GG_OTHERS>(to_back, v + (long long)first * width, left, width, width);
        }
    };
    if (BY_KEYS) {
        gg_fill_rows<PACKED_K, ACROSS, GG_TILE>(own, k + row0 * k_step, rows_left, d, k_apart);
        gg_fill_rows<PACKED_V, false, GG_TILE>(own_back, v + row0 * width, rows_left, width, width);
    } else {
        gg_fill_rows<PACKED_Q, false, GG_TILE>(own, q + row0 * d, rows_left, d, d);
        gg_fill_rows<PACKED_D, false, GG_TILE>(own_back, dout + row0 * width, rows_left, width, width);
    }
    fill_others(0, 0);
    gg_wait_for_copies();
    __syncthreads();
    unsigned kept[GG_KEPT ? HEAD / 16 : 1][4], kept_back[GG_KEPT ? HEAD / 16 : 1][4];
#pragma unroll
    for (int l = 0; GG_KEPT && l < HEAD / 16; l++) {
        gg_own<GG_OWN_ACROSS, GG_OWN_WIDE>(kept[l], own, warp_row, l);
        gg_own<false, GG_WIDE>(kept_back[l], own_back, warp_row, l);
    }
    float base[2] = {}, mean[2] = {}; /* of this lane's own rows, if they are queries */
    if (!BY_KEYS) {
        for (int row = warp_row; row < warp_row + 16 && row < rows_left; row++) {
            const T *const from = out + (which * m + row0 + row) * width;
            float sum = 0;
            for (int at = threadIdx.x % 32; at < width; at += 32) sum += (float)T_LOAD(own_back[row * GG_WIDE + at]) * (float)T_LOAD(from[at]);
            for (int lane = 16; lane; lane >>= 1) sum += gg_xor(sum, lane);
            for (int r = 0; r < 2; r++)
                if (row == own_row + 8 * r) mean[r] = sum, base[r] = statistics[row0 + row];
            if (threadIdx.x % 32 == 0) delta[row0 + row] = sum;
        }
    }

    float result[HEAD / 8][4] = {}, value_result[HEAD / 8][4] = {};
    int buffer = 0;
    for (int first = 0; first < others; first += GG_OTHERS, buffer ^= 1) {
        const int left = min(others - first, GG_OTHERS);
        const T *const other = others_at + buffer * (GG_OTHER_SIZE + GG_OTHERS * GG_WIDE), *const other_back = other + GG_OTHER_SIZE;
        gg_wait_for_copies();
        __syncthreads(); /* these rows have arrived, the rows before them were used */
        if (first + GG_OTHERS < others) fill_others(first + GG_OTHERS, buffer ^ 1);
        float p[GG_OTHERS / 8][4] = {}, ds[GG_OTHERS / 8][4] = {};
#pragma unroll GG_AT_ONCE
        for (int l = 0; l < HEAD / 16; l++) {
            if (GG_KEPT) {
                gg_score<GG_OTHER_ACROSS, GG_OTHER_WIDE>(p, kept[l], other, l);
                gg_score<false, GG_WIDE>(ds, kept_back[l], other_back, l);
            } else {
                unsigned a[4];
                gg_own<GG_OWN_ACROSS, GG_OWN_WIDE>(a, own, warp_row, l);
                gg_score<GG_OTHER_ACROSS, GG_OTHER_WIDE>(p, a, other, l);
                gg_own<false, GG_WIDE>(a, own_back, warp_row, l);
                gg_score<false, GG_WIDE>(ds, a, other_back, l);
            }
        }
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int at = 0; at < GG_OTHERS / 4; at++) {
                const int column = at / 2 * 8 + pair + at % 2;
                const bool in = column < left; /* own rows after the last one are not stored */
                float &one = p[at / 2][2 * r + at % 2], &two = ds[at / 2][2 * r + at % 2];
                float score = one * scale;
                if (MASKED && in && own_row + 8 * r < rows_left) score += (float)T_LOAD(mask[8 * r * mask_own + column * mask_other]);
                score -= BY_KEYS ? numbers[buffer][0][column] : base[r];
                one = in ? gg_exp2(score * GG_LOG2_E) : 0.0f;
                two = in ? one * (two - (BY_KEYS ? numbers[buffer][1][column] : mean[r])) : 0.0f;
            }
        if (MASKED) mask += (long long)GG_OTHERS * mask_other;
        if (BY_KEYS) gg_weigh<false, GG_WIDE>(value_result, p, other_back);
        gg_weigh<GG_OTHER_ACROSS, GG_OTHER_WIDE>(result, ds, other);
    }
    if (BY_KEYS) {
        gg_store(dk + which * n * d + row0 * dk_row, dk_row, dk_column, own_row, rows_left, d, scale, result);
        gg_store(dv + (which * n + row0) * width, width, 1, own_row, rows_left, width, 1.0f, value_result);
    } else {
        gg_store(dq + (which * m + row0) * d, d, 1, own_row, rows_left, d, scale, result);
    }
}
