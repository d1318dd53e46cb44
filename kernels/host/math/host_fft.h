/* Fourier transforms of complex64 or float32 along axes whose sizes are powers of 2: Stockham's algorithm with
   radix 4, of as many transforms at a time as a vector has lanes.

   Parameters: the number of axes; GG_FFT_INVERSE, which is divided by the number of elements,
   GG_FFT_REAL, of which the first half of the spectrum is stored, or 0; the elements of a row of the
   input, of which real ones may be cut, or get zeros at the end; for each axis, the last one first: the product of the sizes before it, its size, the
   product of the sizes after it; then for each axis the factors exp(-2 pi i k / size), as two floats
   in a word. Arrays: the input, out (as floats). A part is a block of transforms. */

#ifndef GG_FFT
#define GG_FFT

#define GG_FFT_LANES (GG_VECTOR / 4)

enum { GG_FFT_INVERSE = 1, GG_FFT_REAL };

typedef float gg_fft_vector __attribute__((vector_size(GG_VECTOR), aligned(4), may_alias));

typedef struct {
    gg_source *source;
    const float *from;
    float *to;
    int64_t outer, size, inner, blocks, bytes; /* blocks: of one row of `inner` */
    int64_t length;                            /* of a real row */
    const float *factors;
    int inverse;
    float scale;
    char *slots;
} gg_fft_axis;

/* Transposes a square of vectors. */
static inline __attribute__((always_inline)) void gg_fft_transpose(gg_fft_vector *v) {
#if defined(__clang__) || !defined(__GNUC__)
    float copy[GG_FFT_LANES][GG_FFT_LANES];
    memcpy(copy, v, sizeof copy);
    for (int i = 0; i < GG_FFT_LANES; i++)
        for (int k = 0; k < GG_FFT_LANES; k++) ((float *)v)[i * GG_FFT_LANES + k] = copy[k][i];
#else
    typedef int32_t gg_mask __attribute__((vector_size(GG_VECTOR)));
    GG_UNROLL for (int d = GG_FFT_LANES / 2; d; d /= 2) {
        gg_mask low, high;
        GG_UNROLL for (int k = 0; k < GG_FFT_LANES; k++) {
            low[k] = k & d ? GG_FFT_LANES + k - d : k;
            high[k] = k & d ? GG_FFT_LANES + k : k + d;
        }
        GG_UNROLL for (int i = 0; i < GG_FFT_LANES; i++) {
            if (i & d) continue;
            const gg_fft_vector a = v[i], b = v[i + d];
            v[i] = __builtin_shuffle(a, b, low);
            v[i + d] = __builtin_shuffle(a, b, high);
        }
    }
#endif
}

/* One pass from x to y. `stride` transforms of `size` elements are interleaved. */
static void gg_fft_pass(const gg_fft_vector *xr, const gg_fft_vector *xi, gg_fft_vector *yr,
                        gg_fft_vector *yi, int64_t size, int64_t stride, const float *factors) {
    const int64_t quarter = size / 4, far = quarter * stride;
    for (int64_t p = 0; p < quarter; p++) {
        const float *w1 = factors + 2 * p * stride, *w2 = factors + 4 * p * stride;
        const float *w3 = factors + 6 * p * stride;
        for (int64_t q = 0; q < stride; q++) {
            const int64_t at = q + stride * p, to = q + stride * 4 * p;
            const gg_fft_vector ar = xr[at], ai = xi[at], br = xr[at + far], bi = xi[at + far];
            const gg_fft_vector cr = xr[at + 2 * far], ci = xi[at + 2 * far];
            const gg_fft_vector dr = xr[at + 3 * far], di = xi[at + 3 * far];
            const gg_fft_vector sr = ar + cr, si = ai + ci, tr = ar - cr, ti = ai - ci;
            const gg_fft_vector ur = br + dr, ui = bi + di, vr = bi - di, vi = dr - br;
            const gg_fft_vector er = tr + vr, ei = ti + vi, fr = sr - ur, fi = si - ui;
            const gg_fft_vector gr = tr - vr, gi = ti - vi;
            yr[to] = sr + ur, yi[to] = si + ui;
            yr[to + stride] = er * w1[0] - ei * w1[1], yi[to + stride] = er * w1[1] + ei * w1[0];
            yr[to + 2 * stride] = fr * w2[0] - fi * w2[1];
            yi[to + 2 * stride] = fr * w2[1] + fi * w2[0];
            yr[to + 3 * stride] = gr * w3[0] - gi * w3[1];
            yi[to + 3 * stride] = gr * w3[1] + gi * w3[0];
        }
    }
}

/* Transforms GG_FFT_LANES columns of `size` elements; returns where the result is: 0, or 1 for the
   second pair of arrays. */
static int gg_fft_columns(gg_fft_vector *re, gg_fft_vector *im, int64_t size, const float *factors) {
    gg_fft_vector *r[2] = {re, re + 2 * size}, *i[2] = {im, im + 2 * size};
    int64_t rest = size, stride = 1;
    int at = 0;
    for (; rest >= 4; rest /= 4, stride *= 4, at ^= 1)
        gg_fft_pass(r[at], i[at], r[!at], i[!at], rest, stride, factors);
    if (rest == 2) {
        for (int64_t q = 0; q < stride; q++) {
            const gg_fft_vector ar = r[at][q], ai = i[at][q];
            const gg_fft_vector br = r[at][q + stride], bi = i[at][q + stride];
            r[!at][q] = ar + br, i[!at][q] = ai + bi;
            r[!at][q + stride] = ar - br, i[!at][q + stride] = ai - bi;
        }
        at ^= 1;
    }
    return at;
}

/* -- blocks: rows of the last axis, or neighbouring columns of another one */

static void gg_fft_load_rows(const float *from, int64_t size, int64_t rows, gg_fft_vector *re,
                             gg_fft_vector *im) {
    for (int64_t k = 0; k < size; k += GG_FFT_LANES / 2) {
        gg_fft_vector v[GG_FFT_LANES];
        for (int64_t row = 0; row < GG_FFT_LANES; row++)
            v[row] = *(const gg_fft_vector *)(from + 2 * (gg_min(row, rows - 1) * size + k));
        gg_fft_transpose(v);
        for (int64_t j = 0; j < GG_FFT_LANES / 2; j++) re[k + j] = v[2 * j], im[k + j] = v[2 * j + 1];
    }
}

static void gg_fft_store_rows(float *to, int64_t size, int64_t rows, const gg_fft_vector *re,
                              const gg_fft_vector *im, float scale) {
    for (int64_t k = 0; k < size; k += GG_FFT_LANES / 2) {
        gg_fft_vector v[GG_FFT_LANES];
        for (int64_t j = 0; j < GG_FFT_LANES / 2; j++)
            v[2 * j] = re[k + j] * scale, v[2 * j + 1] = im[k + j] * scale;
        gg_fft_transpose(v);
        for (int64_t row = 0; row < rows; row++)
            *(gg_fft_vector *)(to + 2 * (row * size + k)) = v[row];
    }
}

static void gg_fft_load_columns(const float *from, int64_t size, int64_t inner, int64_t columns,
                                gg_fft_vector *re, gg_fft_vector *im) {
    for (int64_t k = 0; k < size; k++) {
        const float *row = from + 2 * k * inner;
        float *r = (float *)(re + k), *i = (float *)(im + k);
        if (columns == GG_FFT_LANES)
            for (int c = 0; c < GG_FFT_LANES; c++) r[c] = row[2 * c], i[c] = row[2 * c + 1];
        else
            for (int64_t c = 0; c < GG_FFT_LANES; c++) {
                r[c] = c < columns ? row[2 * c] : 0;
                i[c] = c < columns ? row[2 * c + 1] : 0;
            }
    }
}

static void gg_fft_store_columns(float *to, int64_t size, int64_t inner, int64_t columns,
                                 const gg_fft_vector *re, const gg_fft_vector *im, float scale) {
    for (int64_t k = 0; k < size; k++) {
        float *row = to + 2 * k * inner;
        const float *r = (const float *)(re + k), *i = (const float *)(im + k);
        if (columns == GG_FFT_LANES)
            GG_LOOP for (int c = 0; c < GG_FFT_LANES; c++)
                row[2 * c] = r[c] * scale, row[2 * c + 1] = i[c] * scale;
        else
            for (int64_t c = 0; c < columns; c++)
                row[2 * c] = r[c] * scale, row[2 * c + 1] = i[c] * scale;
    }
}

/* The inverse transform is that of numbers with real and imaginary parts exchanged. */
static void gg_fft_part(void *block, int64_t which) {
    const gg_fft_axis *a = block;
    char *taken = gg_take(a->source, a->slots, a->bytes);
    gg_fft_vector *re = (gg_fft_vector *)taken, *im = re + a->size;
    gg_fft_vector *x = a->inverse ? im : re, *y = a->inverse ? re : im;
    const int64_t outer = which / a->blocks, first = which % a->blocks * GG_FFT_LANES;
    const int64_t rows = gg_min(GG_FFT_LANES, a->outer - which * GG_FFT_LANES);
    const int64_t place = a->inner == 1 ? 2 * which * GG_FFT_LANES * a->size
                                        : 2 * (outer * a->size * a->inner + first);
    const int64_t columns = gg_min(GG_FFT_LANES, a->inner - first);
    if (a->inner == 1) gg_fft_load_rows(a->from + place, a->size, rows, x, y);
    else gg_fft_load_columns(a->from + place, a->size, a->inner, columns, x, y);
    if (gg_fft_columns(re, im, a->size, a->factors)) x += 2 * a->size, y += 2 * a->size;
    if (a->inner == 1) gg_fft_store_rows(a->to + place, a->size, rows, x, y, a->scale);
    else gg_fft_store_columns(a->to + place, a->size, a->inner, columns, x, y, a->scale);
    gg_give(taken);
}

/* -- real rows: two of them are the parts of complex numbers */

static void gg_fft_load_real(const float *from, int64_t length, int64_t size, int64_t rows,
                             int64_t odd, gg_fft_vector *to) {
    for (int64_t k = 0; k < size; k += GG_FFT_LANES) {
        const int64_t count = gg_min(length - k, GG_FFT_LANES);
        gg_fft_vector v[GG_FFT_LANES] = {{0}};
        for (int64_t row = 0; row < GG_FFT_LANES && count > 0; row++) {
            const float *at = from + gg_min(2 * row + odd, rows - 1) * length + k;
            if (count == GG_FFT_LANES) v[row] = *(const gg_fft_vector *)at;
            else memcpy(v + row, at, (size_t)count * sizeof *at);
        }
        gg_fft_transpose(v);
        for (int64_t j = 0; j < GG_FFT_LANES; j++) to[k + j] = v[j];
    }
}

/* An element of the transforms of the even rows, or of the odd ones, from that of their sum
   even + i odd. */
static void gg_fft_separate(const gg_fft_vector *re, const gg_fft_vector *im, int64_t size,
                            int64_t k, int64_t odd, gg_fft_vector *v) {
    const int64_t m = (size - k) & (size - 1);
    v[0] = (odd ? im[k] + im[m] : re[k] + re[m]) * 0.5f;
    v[1] = (odd ? re[m] - re[k] : im[k] - im[m]) * 0.5f;
}

static void gg_fft_store_halves(float *to, int64_t size, int64_t rows, int64_t odd,
                                const gg_fft_vector *re, const gg_fft_vector *im) {
    const int64_t wide = 2 * (size / 2 + 1), last = gg_min(GG_FFT_LANES, (rows + 1 - odd) / 2);
    for (int64_t k = 0; k < size / 2; k += GG_FFT_LANES / 2) {
        gg_fft_vector v[GG_FFT_LANES];
        for (int64_t j = 0; j < GG_FFT_LANES / 2; j++)
            gg_fft_separate(re, im, size, k + j, odd, v + 2 * j);
        gg_fft_transpose(v);
        for (int64_t row = 0; row < last; row++)
            *(gg_fft_vector *)(to + (2 * row + odd) * wide + 2 * k) = v[row];
    }
    gg_fft_vector middle[2];
    gg_fft_separate(re, im, size, size / 2, odd, middle);
    for (int64_t row = 0; row < last; row++) {
        float *end = to + (2 * row + odd) * wide + size;
        end[0] = middle[0][row], end[1] = middle[1][row];
    }
}

static void gg_fft_real_part(void *block, int64_t which) {
    const gg_fft_axis *a = block;
    char *taken = gg_take(a->source, a->slots, a->bytes);
    gg_fft_vector *re = (gg_fft_vector *)taken, *im = re + a->size;
    const int64_t first = 2 * which * GG_FFT_LANES, rows = a->outer - first;
    const float *from = a->from + first * a->length;
    float *to = a->to + first * 2 * (a->size / 2 + 1);
    gg_fft_load_real(from, a->length, a->size, rows, 0, re);
    gg_fft_load_real(from, a->length, a->size, rows, 1, im);
    if (gg_fft_columns(re, im, a->size, a->factors)) re += 2 * a->size, im += 2 * a->size;
    gg_fft_store_halves(to, a->size, rows, 0, re, im);
    gg_fft_store_halves(to, a->size, rows, 1, re, im);
    gg_give(taken);
}

static int64_t gg_fft_bytes(const int64_t *n) {
    int64_t largest = 0;
    for (int64_t axis = 0; axis < n[0]; axis++) largest = gg_max(largest, n[4 + 3 * axis]);
    return largest * 4 * (int64_t)sizeof(gg_fft_vector);
}
#endif

void GG_NAME(gg_fft_plan)(gg_source *source) {
    const int64_t *n = source->parameters, count = n[3] * n[4] * n[5];
    source->count[0] = source->count[1] = count;
    if (n[1] == GG_FFT_REAL) source->count[0] = n[3] * n[2], source->count[1] = n[3] * (n[4] / 2 + 1);
    gg_set_work(source, 1.5 * count * n[0]);
    source->scratch_bytes = gg_slots_bytes(source, gg_fft_bytes(n));
}

int GG_NAME(gg_fft)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, *axis = n + 3;
    gg_fft_axis a = {.source = source, .from = source->at[0], .to = source->at[1], .inverse = n[1] == GG_FFT_INVERSE};
    a.length = n[2], a.bytes = gg_fft_bytes(n), a.slots = source->scratch;
    a.factors = (const float *)(axis + 3 * n[0]);
    for (int64_t k = 0; k < n[0]; k++, axis += 3) {
        a.outer = axis[0], a.size = axis[1], a.inner = axis[2];
        a.blocks = a.inner == 1 ? 1 : gg_ceil(a.inner, GG_FFT_LANES);
        a.scale = a.inverse ? 1 / (float)a.size : 1;
        const int is_real = n[1] == GG_FFT_REAL && !k;
        const int64_t rows = is_real ? 2 * GG_FFT_LANES : GG_FFT_LANES;
        const int64_t parts = a.inner == 1 ? gg_ceil(a.outer, rows) : a.outer * a.blocks;
        gg_free_slots(source, a.slots, a.bytes);
        source->parallel(is_real ? gg_fft_real_part : gg_fft_part, &a, parts, source->threads);
        a.from = a.to;
        a.factors += 2 * a.size;
    }
    return GG_DONE;
}
