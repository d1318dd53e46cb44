/* Random numbers: bitwise those of gpugraph/ops/random/bits_to_distributions.py, for float.

   Philox4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) gives
   blocks of four words from a key and a 128-bit counter. Blocks are computed GG_DRAWN at a time,
   so that compilers vectorize each loop over them. Logarithm, sine and cosine are computed in
   double and rounded to float; tests/kernels/test_host_random.py compares all their arguments
   with NumPy's.

   Arrays: the position, as lower and upper half of the counter of the first block, key, and 0 (64
   bits each); the numbers. A function does not change the position. Parameters: the number of
   numbers. */

#ifndef GG_RANDOM
#define GG_RANDOM

#include "host_math.h"

#define GG_DRAWN 256           /* blocks at a time */
#define GG_DRAWN_PART 16384    /* blocks of a part */
#define GG_RANDOM_RESERVED 256 /* blocks reserved for a group of numbers, if some are rejected */

typedef struct {
    uint64_t low, high, key;
    uint64_t least, span, wide; /* of integers */
} gg_stream;

typedef struct {
    uint32_t of[4][GG_DRAWN];
} gg_words;

typedef void (*gg_law)(const gg_stream *stream, int64_t first, int64_t count, float *out);

typedef struct {
    gg_stream stream;
    gg_law law;
    int64_t count; /* numbers */
    float *out;
} gg_drawing;

/* The words of the blocks `offsets` counters further on. */
static void gg_philox(const gg_stream *stream, const uint64_t *offsets, int64_t count,
                      gg_words *words) {
    const uint64_t low = stream->low, high = stream->high, word = 0xffffffffu;
    GG_LOOP
    for (int64_t i = 0; i < count; i++) {
        const uint64_t at = low + offsets[i], over = high + (at < low);
        uint64_t c0 = at & word, c1 = at >> 32, c2 = over & word, c3 = over >> 32;
        uint32_t k0 = (uint32_t)stream->key, k1 = (uint32_t)(stream->key >> 32);
        GG_UNROLL
        for (int round = 0; round < 10; round++) {
            const uint64_t first = c0 * 0xD2511F53u, second = c2 * 0xCD9E8D57u;
            c0 = (second >> 32) ^ c1 ^ k0, c2 = (first >> 32) ^ c3 ^ k1;
            c1 = second & word, c3 = first & word;
            k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
        }
        words->of[0][i] = (uint32_t)c0, words->of[1][i] = (uint32_t)c1;
        words->of[2][i] = (uint32_t)c2, words->of[3][i] = (uint32_t)c3;
    }
}

/* In [0, 1): as many random bits as a mantissa has. */
GG_ALWAYS float gg_unit(uint32_t word) {
    union { uint32_t u; float f; } bits = {(word & 0x7fffffu) | 0x3f800000u};
    return bits.f - 1.0f;
}

/* The radius of a pair of normal numbers, from a number in [0, 1). */
GG_ALWAYS float gg_radius(float u) {
    const float least = u < 1e-7f ? 1e-7f : u;
    return sqrtf(-2.0f * (float)gg_log_f64((double)least));
}

/* The sine and the cosine of 2 pi v (v in [0, 1)), whose angle is rounded to float: the distance r
   from the nearest quarter turn, then the Taylor series of both, which err by less than 1e-17. */
GG_ALWAYS void gg_turn(float v, float *sine, float *cosine) {
    const double angle = (double)(float)((double)v * 6.283185307179586);
    const double shifted = angle * 0x1.45f306dc9c883p-1 + 0x1.8p52; /* times 2 / pi */
    union { double d; uint64_t u; } quarter = {shifted};
    const double count = shifted - 0x1.8p52;
    double r = gg_fma_f64(count, -0x1.921fb544p0, angle); /* the first 34 bits of pi / 2: exact */
    r = gg_fma_f64(count, -0x1.0b4611a626331p-34, r);
    const double square = r * r;
    double s = 1.0 / 355687428096000.0, c = 1.0 / 20922789888000.0;
    s = gg_fma_f64(-s, square, 1.0 / 1307674368000.0), c = gg_fma_f64(c, square, -1.0 / 87178291200.0);
    s = gg_fma_f64(-s, square, 1.0 / 6227020800.0), c = gg_fma_f64(c, square, 1.0 / 479001600.0);
    s = gg_fma_f64(-s, square, 1.0 / 39916800.0), c = gg_fma_f64(c, square, -1.0 / 3628800.0);
    s = gg_fma_f64(-s, square, 1.0 / 362880.0), c = gg_fma_f64(c, square, 1.0 / 40320.0);
    s = gg_fma_f64(-s, square, 1.0 / 5040.0), c = gg_fma_f64(c, square, -1.0 / 720.0);
    s = gg_fma_f64(-s, square, 1.0 / 120.0), c = gg_fma_f64(c, square, 1.0 / 24.0);
    s = gg_fma_f64(-s, square, 1.0 / 6.0), c = gg_fma_f64(c, square, -0.5);
    s = gg_fma_f64(-s * square, r, r), c = gg_fma_f64(c, square, 1.0);
    const int is_odd = quarter.u & 1;
    const double first = is_odd ? c : s, second = is_odd ? s : c;
    *sine = (float)(quarter.u & 2 ? -first : first);
    *cosine = (float)((quarter.u + 1) & 2 ? -second : second);
}

/* The numbers of blocks: groups of four, one after the other. */
static void gg_normal_groups(const gg_words *words, int64_t count, float *out) {
    for (int pair = 0; pair < 2; pair++) {
        GG_LOOP
        for (int64_t i = 0; i < count; i++) {
            float sine, cosine;
            const float radius = gg_radius(gg_unit(words->of[2 * pair][i]));
            gg_turn(gg_unit(words->of[2 * pair + 1][i]), &sine, &cosine);
            out[4 * i + 2 * pair] = sine * radius, out[4 * i + 2 * pair + 1] = cosine * radius;
        }
    }
}

static void gg_unit_groups(const gg_words *words, int64_t count, float *out) {
    GG_LOOP
    for (int64_t i = 0; i < count; i++)
        for (int which = 0; which < 4; which++) out[4 * i + which] = gg_unit(words->of[which][i]);
}

static void gg_offsets(uint64_t *offsets, int64_t first, int64_t count, uint64_t apart) {
    for (int64_t i = 0; i < count; i++) offsets[i] = (uint64_t)(first + i) * apart;
}

static void gg_draw_units(const gg_stream *stream, int64_t first, int64_t count, float *out) {
    uint64_t offsets[GG_DRAWN];
    gg_words words;
    gg_offsets(offsets, first, count, 1);
    gg_philox(stream, offsets, count, &words);
    gg_unit_groups(&words, count, out);
}

static void gg_draw_normals(const gg_stream *stream, int64_t first, int64_t count, float *out) {
    uint64_t offsets[GG_DRAWN];
    gg_words words;
    gg_offsets(offsets, first, count, 1);
    gg_philox(stream, offsets, count, &words);
    gg_normal_groups(&words, count, out);
}

/* Keeps the numbers of a group that are within 2, after `kept` earlier ones; returns the count. */
static int gg_keep_within(const float *drawn, float *out, int kept) {
    for (int which = 0; which < 4 && kept < 4; which++)
        if (fabsf(drawn[which]) < 2.0f) out[kept++] = drawn[which];
    return kept;
}

/* Each group has separate blocks, and takes the first numbers that are within 2. */
static void gg_draw_truncated(const gg_stream *stream, int64_t first, int64_t count, float *out) {
    uint64_t offsets[GG_DRAWN];
    int64_t group[GG_DRAWN];
    int kept[GG_DRAWN];
    float drawn[4 * GG_DRAWN];
    gg_words words;
    gg_offsets(offsets, first, count, GG_RANDOM_RESERVED);
    for (int64_t i = 0; i < count; i++) group[i] = i, kept[i] = 0;
    while (count) {
        int64_t left = 0;
        gg_philox(stream, offsets, count, &words);
        gg_normal_groups(&words, count, drawn);
        for (int64_t i = 0; i < count; i++) {
            const int64_t at = group[i];
            const int whole = gg_keep_within(drawn + 4 * i, out + 4 * at, kept[i]);
            if (whole == 4) continue;
            offsets[left] = offsets[i] + 1, group[left] = at, kept[left] = whole;
            left++;
        }
        count = left;
    }
}

/* v % span for span > 1, by a quotient that may differ by one. */
static inline uint32_t gg_remainder(uint32_t v, uint32_t span, double inverse) {
    const int64_t quotient = (int32_t)(v * inverse);
    int64_t rest = (int64_t)v - quotient * span;
    rest += rest < 0 ? span : 0;
    rest -= rest >= span ? span : 0;
    return (uint32_t)rest;
}

/* least + word % span: of 32 bits, or of two words. */
static void gg_draw_integers(const gg_stream *stream, int64_t first, int64_t count, float *out) {
    uint64_t offsets[GG_DRAWN];
    gg_words words;
    gg_offsets(offsets, first, count, 1);
    gg_philox(stream, offsets, count, &words);
    const uint64_t span = stream->span, least = stream->least, mask = span - 1;
    const int is_power = !(span & mask);
    if (stream->wide) {
        for (int64_t i = 0; i < count; i++)
            for (int half = 0; half < 2; half++) {
                const uint64_t low = words.of[2 * half][i], high = words.of[2 * half + 1][i];
                const uint64_t v = low | high << 32, drawn = least + (is_power ? v & mask : v % span);
                memcpy(out + 4 * i + 2 * half, &drawn, 8);
            }
        return;
    }
    uint32_t drawn[4 * GG_DRAWN];
    const uint32_t by = (uint32_t)span, from = (uint32_t)least;
    const double inverse = 1.0 / (double)span;
    for (int lane = 0; lane < 4; lane++) {
        const uint32_t *of = words.of[lane];
        if (is_power)
            GG_LOOP for (int64_t i = 0; i < count; i++) drawn[4 * i + lane] = from + (of[i] & (uint32_t)mask);
        else
            GG_LOOP for (int64_t i = 0; i < count; i++)
                drawn[4 * i + lane] = from + gg_remainder(of[i], by, inverse);
    }
    memcpy(out, drawn, (size_t)count * 16);
}

static void gg_draw_part(void *block, int64_t which) {
    const gg_drawing *drawing = block;
    const int64_t groups = gg_ceil(drawing->count, 4);
    const int64_t end = gg_min(groups, (which + 1) * GG_DRAWN_PART);
    for (int64_t first = which * GG_DRAWN_PART; first < end; first += GG_DRAWN) {
        const int64_t count = gg_min(GG_DRAWN, end - first), rest = drawing->count - 4 * first;
        float few[4 * GG_DRAWN], *out = drawing->out + 4 * first;
        const int is_whole = 4 * count <= rest;
        drawing->law(&drawing->stream, first, count, is_whole ? out : few);
        if (!is_whole) memcpy(out, few, (size_t)rest * sizeof(float));
    }
}

static void gg_draw_plan(gg_source *source, double nanoseconds) {
    source->count[0] = 8, source->count[1] = source->parameters[0];
    gg_set_work(source, nanoseconds * source->parameters[0]);
}

static int gg_draw(void *block, gg_law law) {
    gg_source *source = block;
    const uint64_t *position = source->at[0];
    gg_drawing drawing = {{position[0], position[1], position[2], 0, 0, 0}, law,
                          source->parameters[0], source->at[1]};
    if (law == gg_draw_integers) {
        const int64_t *n = source->parameters;
        drawing.stream.least = (uint64_t)n[1], drawing.stream.span = (uint64_t)n[2];
        drawing.stream.wide = (uint64_t)n[3], drawing.count = n[0] * (1 + n[3]);
    }
    const int64_t parts = gg_ceil(gg_ceil(drawing.count, 4), GG_DRAWN_PART);
    source->parallel(gg_draw_part, &drawing, parts, source->threads);
    return 0;
}

void gg_uniform_plan_f32(gg_source *source) { gg_draw_plan(source, 0.5); }
void gg_normal_plan_f32(gg_source *source) { gg_draw_plan(source, 2.0); }
void gg_truncated_plan_f32(gg_source *source) { gg_draw_plan(source, 4.0); }
int gg_uniform_f32(void *block) { return gg_draw(block, gg_draw_units); }
int gg_normal_f32(void *block) { return gg_draw(block, gg_draw_normals); }
int gg_truncated_f32(void *block) { return gg_draw(block, gg_draw_truncated); }

/* Parameters: the number of integers, the smallest integer that may be drawn, how many different
   integers may be drawn, and whether they are int64. */
void gg_integers_plan_f32(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = 8, source->count[1] = n[0] * (1 + n[3]);
    gg_set_work(source, (n[3] ? 8.0 : 1.0) * n[0]);
}
int gg_integers_f32(void *block) { return gg_draw(block, gg_draw_integers); }

/* The numbers below n, n > 1, in random order (a Fisher-Yates shuffle from the front).

   Parameters: n. Arrays: the position, the order (int64). */
void gg_order_plan_f32(gg_source *source) {
    source->count[0] = 8, source->count[1] = 2 * source->parameters[0];
    gg_set_work(source, 3.0 * source->parameters[0]);
    source->threads = 1;
}

int gg_order_f32(void *block) {
    gg_source *source = block;
    const int64_t n = source->parameters[0];
    const uint64_t *position = source->at[0];
    const gg_stream stream = {position[0], position[1], position[2], 0, 0, 0};
    int64_t *order = source->at[1];
    uint64_t offsets[GG_DRAWN];
    gg_words words;
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = 0; i + 1 < n; i++) {
        const int64_t block = i / 4 % GG_DRAWN;
        if (i % (4 * GG_DRAWN) == 0) {
            gg_offsets(offsets, i / 4, GG_DRAWN, 1);
            gg_philox(&stream, offsets, GG_DRAWN, &words);
        }
        const int64_t j = i + words.of[i % 4][block] % (uint32_t)(n - i), kept = order[i];
        order[i] = order[j], order[j] = kept;
    }
    return 0;
}

/* How many of a row's ascending numbers are at most each drawn one. Parameters: rows, numbers of
   each, drawn ones of each. Arrays: numbers and drawn ones (double), counts (int32). */
void gg_classes_plan_f32(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = 2 * n[0] * n[1], source->count[1] = 2 * n[0] * n[2];
    source->count[2] = n[0] * n[2];
    gg_set_work(source, (double)n[0] * n[2] * (1 + 0.1 * n[1]));
    source->threads = 1;
}

int gg_classes_f32(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, classes = n[1], count = n[2];
    const double *sums = source->at[0], *drawn = source->at[1];
    int32_t *out = source->at[2];
    for (int64_t row = 0; row < n[0]; row++, sums += classes, drawn += count, out += count) {
        memset(out, 0, (size_t)count * 4);
        for (int64_t k = 0; k < classes; k++) {
            const double sum = sums[k];
            GG_LOOP for (int64_t i = 0; i < count; i++) out[i] += sum <= drawn[i];
        }
    }
    return 0;
}

#endif
