/* Batch normalization of images, channels last or first, and its gradient.

   Parameters: batch, pixels, channels, whether channels come last, whether it trains, the number
   of reserves, the bits of epsilon (a double). Images are rows of numbers: with channels last, a
   row is a pixel and has each channel once; with channels first, a row is a plane and has one
   channel. Sums are computed block by block in the images' type, and over blocks in double. Mean
   and variance of blocks are joined as by T. Chan, G. Golub and R. LeVeque, "Updating formulae
   and a pairwise algorithm for computing sample variances", 1979: images are read once. */

#ifndef GG_BATCH_NORM
#define GG_BATCH_NORM

#define GG_NORM_BLOCK 8192 /* elements, which stay in the first cache */
#define GG_NORM_PARTS 64
#define GG_NORM_SUMS 4 /* arrays by channel of a part, and of all */

typedef struct {
    gg_source *source;
    int64_t batch, pixels, channels, last, training, reserves;
    double epsilon;
    int64_t rows, rows_each, parts; /* channels last: pixels; channels first: channels */
} gg_norm;

static gg_norm gg_norm_of(gg_source *source) {
    const int64_t *n = source->parameters;
    gg_norm norm = {source, n[0], n[1], n[2], n[3], n[4], n[5]};
    memcpy(&norm.epsilon, &n[6], sizeof norm.epsilon);
    norm.rows = norm.last ? norm.batch * norm.pixels : norm.channels;
    const int64_t row = norm.last ? norm.channels : norm.batch * norm.pixels;
    const int64_t least = gg_max(1, GG_NORM_BLOCK / row);
    norm.rows_each = gg_max(gg_ceil(norm.rows, GG_NORM_PARTS), least);
    norm.parts = gg_ceil(norm.rows, norm.rows_each);
    return norm;
}

/* The results of part `which` (-1: of all of them together): doubles by channel. */
static double *gg_norm_sums(const gg_norm *n, int64_t which) {
    return (double *)n->source->scratch + (which + 1) * GG_NORM_SUMS * n->channels;
}

static void gg_norm_plan(gg_source *source, int images, int vectors) {
    gg_norm n = gg_norm_of(source);
    const double elements = (double)n.batch * n.pixels * n.channels;
    source->scratch_bytes = (n.parts + 1) * GG_NORM_SUMS * n.channels * 8;
    gg_set_work(source, elements * images * 0.2 + vectors);
}
#endif

typedef struct {
    gg_norm norm;
    const gg_real *x, *dy;
    gg_real *out;
} GG_NAME(gg_norm_work);

/* -- sums of a block of pixels, channels last: f(rows, from) into the numbers of each channel */

/* Sums of x, then sums of squares of x less the mean. */
static void GG_NAME(gg_norm_block)(const gg_real *x, int64_t rows, int64_t channels, gg_real *sum,
                                   gg_real *square) {
    memset(sum, 0, (size_t)channels * sizeof *sum);
    memset(square, 0, (size_t)channels * sizeof *square);
    for (int64_t row = 0; row < rows; row++) {
        const gg_real *from = x + row * channels;
        GG_LOOP for (int64_t c = 0; c < channels; c++) sum[c] += from[c];
    }
    const gg_real share = (gg_real)1 / (gg_real)rows;
    GG_LOOP for (int64_t c = 0; c < channels; c++) sum[c] *= share;
    for (int64_t row = 0; row < rows; row++) {
        const gg_real *from = x + row * channels;
        GG_LOOP for (int64_t c = 0; c < channels; c++) {
            const gg_real d = from[c] - sum[c];
            square[c] += d * d;
        }
    }
}

/* An infinite mean stays infinite (of inf and a number), or becomes NaN (of inf and -inf). */
GG_ALWAYS void GG_NAME(gg_norm_join)(double *mean, double *squares, double had, double more,
                                     double other_mean, double other_squares) {
    const double total = had + more, step = other_mean - *mean;
    *mean += isinf(*mean) ? other_mean : step * (more / total);
    *squares += other_squares + step * step * (had * more / total);
}

static void GG_NAME(gg_moments_last)(const GG_NAME(gg_norm_work) * w, int64_t first, int64_t end,
                                     double *sums) {
    const int64_t channels = w->norm.channels, step = gg_max(1, GG_NORM_BLOCK / channels);
    gg_real *block = (gg_real *)(sums + 2 * channels); /* two arrays in the room of two of doubles */
    memset(sums, 0, (size_t)channels * 2 * sizeof *sums);
    for (int64_t row = first; row < end; row += step) {
        const int64_t rows = gg_min(step, end - row);
        GG_NAME(gg_norm_block)(w->x + row * channels, rows, channels, block, block + channels);
        for (int64_t c = 0; c < channels; c++)
            GG_NAME(gg_norm_join)(sums + c, sums + channels + c, (double)(row - first), (double)rows,
                                  block[c], block[channels + c]);
    }
}

/* -- the same of a plane, whose elements are of one channel */

GG_ALWAYS gg_real GG_NAME(gg_lanes_sum)(GG_NAME(gg_vector) lanes) {
    gg_real sum = 0;
    for (int64_t lane = 0; lane < GG_REAL_LANES; lane++) sum += lanes[lane];
    return sum;
}

/* The sum of f of (a, b): a * b minus the shift, or the sums themselves. */
GG_ALWAYS gg_real GG_NAME(gg_plane_sum)(const int kind, const gg_real *a, const gg_real *b,
                                        gg_real shift, int64_t count) {
    GG_NAME(gg_vector) total[4] = {{0}, {0}, {0}, {0}};
    const int64_t lanes = GG_REAL_LANES;
    int64_t i = 0;
    for (; i + 4 * lanes <= count; i += 4 * lanes)
        GG_UNROLL for (int v = 0; v < 4; v++) {
            const GG_NAME(gg_vector) x = *(const GG_NAME(gg_vector) *)(a + i + v * lanes) - shift;
            if (kind == 0) total[v] += x;
            if (kind == 1) total[v] += x * x;
            if (kind == 2) total[v] += x * *(const GG_NAME(gg_vector) *)(b + i + v * lanes);
        }
    gg_real sum = GG_NAME(gg_lanes_sum)((total[0] + total[1]) + (total[2] + total[3]));
    for (; i < count; i++) {
        const gg_real x = a[i] - shift;
        sum += kind == 0 ? x : kind == 1 ? x * x : x * b[i];
    }
    return sum;
}

static void GG_NAME(gg_moments_first)(const GG_NAME(gg_norm_work) * w, int64_t channel,
                                      double *mean, double *squares) {
    const gg_norm *n = &w->norm;
    double had = 0;
    *mean = *squares = 0;
    for (int64_t image = 0; image < n->batch; image++)
        for (int64_t at = 0; at < n->pixels; at += GG_NORM_BLOCK) {
            const int64_t count = gg_min(GG_NORM_BLOCK, n->pixels - at);
            const gg_real *x = w->x + (image * n->channels + channel) * n->pixels + at;
            const gg_real own = GG_NAME(gg_plane_sum)(0, x, x, 0, count) / (gg_real)count;
            const gg_real square = GG_NAME(gg_plane_sum)(1, x, x, own, count);
            GG_NAME(gg_norm_join)(mean, squares, had, (double)count, own, square);
            had += (double)count;
        }
}

/* -- forward */

static void GG_NAME(gg_moments_part)(void *block, int64_t which) {
    const GG_NAME(gg_norm_work) *w = block;
    const gg_norm *n = &w->norm;
    const int64_t first = which * n->rows_each, end = gg_min(n->rows, first + n->rows_each);
    double *whole = gg_norm_sums(n, -1);
    if (n->last) GG_NAME(gg_moments_last)(w, first, end, gg_norm_sums(n, which));
    else
        for (int64_t c = first; c < end; c++)
            GG_NAME(gg_moments_first)(w, c, whole + c, whole + n->channels + c);
}

static void GG_NAME(gg_join_parts)(const gg_norm *n) {
    double *whole = gg_norm_sums(n, -1);
    memset(whole, 0, (size_t)n->channels * 2 * sizeof *whole);
    for (int64_t which = 0; which < n->parts; which++) {
        const double *part = gg_norm_sums(n, which);
        const double had = (double)(which * n->rows_each);
        const double more = (double)gg_min(n->rows_each, n->rows - which * n->rows_each);
        for (int64_t c = 0; c < n->channels; c++)
            GG_NAME(gg_norm_join)(whole + c, whole + n->channels + c, had, more, part[c],
                                  part[n->channels + c]);
    }
}

/* out = (x - mean) * factor + offset, by channel, or with dy: dy * factor - x' * slope - offset
   (x' = x - mean). The four arrays follow each other. */
GG_ALWAYS gg_real GG_NAME(gg_normed)(const int back, gg_real x, gg_real dy, gg_real mean,
                                     gg_real factor, gg_real offset, gg_real slope) {
    if (back) return (dy - offset - (x - mean) * slope) * factor;
    return (x - mean) * factor + offset;
}

GG_ALWAYS void GG_NAME(gg_norm_rows)(const int back, const GG_NAME(gg_norm_work) * w, int64_t first,
                                     int64_t end) {
    const gg_norm *n = &w->norm;
    const int64_t channels = n->channels, pixels = n->pixels;
    const gg_real *mean = (const gg_real *)gg_norm_sums(n, -1), *factor = mean + channels;
    const gg_real *offset = factor + channels, *slope = offset + channels;
    if (n->last) {
        for (int64_t row = first; row < end; row++) {
            const gg_real *x = w->x + row * channels, *dy = back ? w->dy + row * channels : x;
            gg_real *out = w->out + row * channels;
            GG_LOOP for (int64_t c = 0; c < channels; c++)
                out[c] = GG_NAME(gg_normed)(back, x[c], dy[c], mean[c], factor[c], offset[c],
                                            slope[c]);
        }
        return;
    }
    for (int64_t c = first; c < end; c++)
        for (int64_t image = 0; image < n->batch; image++) {
            const int64_t at = (image * channels + c) * pixels;
            const gg_real *x = w->x + at, *dy = back ? w->dy + at : x;
            gg_real *out = w->out + at;
            const gg_real m = mean[c], f = factor[c], o = offset[c], s = slope[c];
            GG_LOOP for (int64_t i = 0; i < pixels; i++)
                out[i] = GG_NAME(gg_normed)(back, x[i], dy[i], m, f, o, s);
        }
}

static void GG_NAME(gg_norm_part)(void *block, int64_t which) {
    const GG_NAME(gg_norm_work) *w = block;
    const int64_t first = which * w->norm.rows_each;
    GG_NAME(gg_norm_rows)(0, w, first, gg_min(w->norm.rows, first + w->norm.rows_each));
}

/* x, scale, offset, mean, variance; y, batch_mean, batch_variance, the reserves */
void GG_NAME(gg_batch_norm_plan)(gg_source *source) {
    gg_norm n = gg_norm_of(source);
    const int64_t whole = n.batch * n.pixels * n.channels;
    source->count[0] = source->count[5] = whole;
    source->count[1] = source->count[2] = n.channels;
    source->count[3] = source->count[4] = n.training ? 0 : n.channels;
    for (int each = 6; each < 10; each++) source->count[each] = n.channels;
    gg_norm_plan(source, 3, 20 * n.channels);
}

int GG_NAME(gg_batch_norm)(void *block) {
    gg_source *source = block;
    GG_NAME(gg_norm_work) work = {gg_norm_of(source), source->at[0], NULL, source->at[5]};
    gg_norm *n = &work.norm;
    const int64_t channels = n->channels;
    const gg_real *scale = source->at[1], *offset = source->at[2];
    gg_real *mean = source->at[8], *variance = source->at[9];
    gg_real *given_mean = source->at[6], *given_variance = source->at[7];
    if (n->training) {
        source->parallel(GG_NAME(gg_moments_part), &work, n->parts, source->threads);
        if (n->last) GG_NAME(gg_join_parts)(n);
        const double *whole = gg_norm_sums(n, -1), count = (double)n->batch * n->pixels;
        for (int64_t c = 0; c < channels; c++) {
            given_mean[c] = mean[c] = (gg_real)whole[c];
            variance[c] = (gg_real)(whole[channels + c] / count);
            given_variance[c] = variance[c] * (gg_real)(count / (count > 1 ? count - 1 : 1));
        }
    } else
        for (int64_t c = 0; c < channels; c++) {
            given_mean[c] = mean[c] = ((const gg_real *)source->at[3])[c];
            given_variance[c] = variance[c] = ((const gg_real *)source->at[4])[c];
        }
    gg_real *row = (gg_real *)gg_norm_sums(n, -1);
    for (int64_t c = 0; c < channels; c++) {
        const gg_real deviation = GG_ROOT(variance[c] + (gg_real)n->epsilon);
        row[c] = mean[c];
        row[channels + c] = (gg_real)1 / deviation * scale[c];
        row[2 * channels + c] = offset[c];
    }
    source->parallel(GG_NAME(gg_norm_part), &work, n->parts, source->threads);
    return GG_DONE;
}

/* -- backward: the sums of dy and of dy (x - mean), then dx */

static void GG_NAME(gg_slopes_last)(const GG_NAME(gg_norm_work) * w, int64_t first, int64_t end,
                                    double *sums) {
    const int64_t channels = w->norm.channels, step = gg_max(1, GG_NORM_BLOCK / channels);
    const gg_real *mean = w->norm.source->at[3];
    gg_real *sum = (gg_real *)(sums + 2 * channels), *product = sum + channels;
    memset(sums, 0, (size_t)channels * 2 * sizeof *sums);
    for (int64_t from = first; from < end; from += step) {
        memset(sum, 0, (size_t)channels * 2 * sizeof *sum);
        for (int64_t row = from; row < gg_min(end, from + step); row++) {
            const gg_real *x = w->x + row * channels, *dy = w->dy + row * channels;
            GG_LOOP for (int64_t c = 0; c < channels; c++) {
                sum[c] += dy[c];
                product[c] += dy[c] * (x[c] - mean[c]);
            }
        }
        for (int64_t c = 0; c < channels; c++) {
            sums[c] += sum[c];
            sums[channels + c] += product[c];
        }
    }
}

static void GG_NAME(gg_slopes_first)(const GG_NAME(gg_norm_work) * w, int64_t channel, double *sum,
                                     double *product) {
    const gg_norm *n = &w->norm;
    const gg_real mean = ((const gg_real *)n->source->at[3])[channel];
    *sum = *product = 0;
    for (int64_t image = 0; image < n->batch; image++)
        for (int64_t at = 0; at < n->pixels; at += GG_NORM_BLOCK) {
            const int64_t from = (image * n->channels + channel) * n->pixels + at;
            const int64_t count = gg_min(GG_NORM_BLOCK, n->pixels - at);
            const gg_real *x = w->x + from, *dy = w->dy + from;
            *sum += GG_NAME(gg_plane_sum)(0, dy, dy, 0, count);
            *product += GG_NAME(gg_plane_sum)(2, x, dy, mean, count);
        }
}

static void GG_NAME(gg_slopes_part)(void *block, int64_t which) {
    const GG_NAME(gg_norm_work) *w = block;
    const gg_norm *n = &w->norm;
    const int64_t first = which * n->rows_each, end = gg_min(n->rows, first + n->rows_each);
    double *whole = gg_norm_sums(n, -1);
    if (n->last) GG_NAME(gg_slopes_last)(w, first, end, gg_norm_sums(n, which));
    else
        for (int64_t c = first; c < end; c++)
            GG_NAME(gg_slopes_first)(w, c, whole + c, whole + n->channels + c);
}

static void GG_NAME(gg_norm_back_part)(void *block, int64_t which) {
    const GG_NAME(gg_norm_work) *w = block;
    const int64_t first = which * w->norm.rows_each;
    GG_NAME(gg_norm_rows)(1, w, first, gg_min(w->norm.rows, first + w->norm.rows_each));
}

/* dy, x, scale, mean, variance, perhaps a reserve; dx, dscale, doffset, and two that are empty */
void GG_NAME(gg_batch_norm_back_plan)(gg_source *source) {
    gg_norm n = gg_norm_of(source);
    const int64_t out = 3 + n.reserves;
    source->count[0] = source->count[1] = source->count[out] = n.batch * n.pixels * n.channels;
    for (int each = 2; each < 5; each++) source->count[each] = n.channels;
    source->count[out + 1] = source->count[out + 2] = n.channels;
    gg_norm_plan(source, 5, 20 * n.channels);
}

int GG_NAME(gg_batch_norm_back)(void *block) {
    gg_source *source = block;
    GG_NAME(gg_norm_work) work = {gg_norm_of(source), source->at[1], source->at[0]};
    gg_norm *n = &work.norm;
    const int64_t channels = n->channels, out = 3 + n->reserves;
    const gg_real *scale = source->at[2], *mean = source->at[3], *variance = source->at[4];
    gg_real *dscale = source->at[out + 1], *doffset = source->at[out + 2];
    const gg_real share = (gg_real)(1 / ((double)n->batch * n->pixels));
    work.out = source->at[out];
    source->parallel(GG_NAME(gg_slopes_part), &work, n->parts, source->threads);
    double *whole = gg_norm_sums(n, -1);
    if (n->last) {
        memset(whole, 0, (size_t)channels * 2 * sizeof *whole);
        for (int64_t which = 0; which < n->parts; which++)
            for (int64_t c = 0; c < 2 * channels; c++) whole[c] += gg_norm_sums(n, which)[c];
    }
    for (int64_t c = 0; c < channels; c++) {
        const gg_real inverse = (gg_real)1 / GG_ROOT(variance[c] + (gg_real)n->epsilon);
        dscale[c] = (gg_real)whole[channels + c] * inverse;
        doffset[c] = (gg_real)whole[c];
    }
    gg_real *row = (gg_real *)whole;
    for (int64_t c = 0; c < channels; c++) {
        const gg_real inverse = (gg_real)1 / GG_ROOT(variance[c] + (gg_real)n->epsilon);
        row[c] = mean[c];
        row[channels + c] = inverse * scale[c];
        row[2 * channels + c] = n->training ? doffset[c] * share : 0;
        row[3 * channels + c] = n->training ? dscale[c] * inverse * share : 0;
    }
    source->parallel(GG_NAME(gg_norm_back_part), &work, n->parts, source->threads);
    return GG_DONE;
}
