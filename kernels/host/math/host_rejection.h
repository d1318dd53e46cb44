/* Random numbers with gamma and Poisson distributions, by rejection: the algorithms, and the order
   of random bits, of gpugraph/ops/random/rejection_sampling.py.

   Each number has GG_RANDOM_RESERVED blocks. The first ones are computed for many numbers at a
   time. Numbers are computed in double; logarithms, sines and cosines are libm's.

   Parameters: the number of numbers. Arrays: the position as in host_random.h, the distribution's
   parameter of each number (double), the numbers (double). */

#include "host_random.h"

#ifndef GG_REJECTION
#define GG_REJECTION

#include <math.h>
#undef exp
#undef log
#undef log1p
#undef pow
#undef sin
#undef cos

#define GG_FIRST_BLOCKS 2

/* The random bits of one number: uniform numbers and normal ones, two from a block. */
typedef struct {
    const gg_stream *stream;
    const gg_words *words; /* of the first blocks of all numbers of a part */
    uint64_t first;
    int64_t which, used;
    double units[2], normals[2];
    int left_units, left_normals;
} gg_lane;

static void gg_lane_block(gg_lane *lane, double *units) {
    uint64_t pair[2];
    gg_words more;
    const gg_words *words = lane->words + lane->used;
    int64_t at = lane->which;
    if (lane->used >= GG_FIRST_BLOCKS) {
        const uint64_t offset = lane->first + (uint64_t)lane->used;
        gg_philox(lane->stream, &offset, 1, &more);
        words = &more, at = 0;
    }
    lane->used++;
    for (int k = 0; k < 2; k++) {
        pair[k] = (uint64_t)words->of[2 * k][at] << 32 | words->of[2 * k + 1][at];
        pair[k] = (pair[k] & 0xfffffffffffffu) | (uint64_t)1023 << 52;
        memcpy(units + k, pair + k, 8);
        units[k] -= 1;
    }
}

static double gg_next_unit(gg_lane *lane) {
    if (!lane->left_units) gg_lane_block(lane, lane->units), lane->left_units = 2;
    return lane->units[--lane->left_units];
}

static double gg_next_normal(gg_lane *lane) {
    if (!lane->left_normals) {
        double units[2];
        gg_lane_block(lane, units);
        const double angle = 2 * 3.141592653589793 * units[1];
        const double radius = sqrt(-2 * log(units[0] < 1e-7 ? 1e-7 : units[0]));
        lane->normals[0] = sin(angle) * radius, lane->normals[1] = cos(angle) * radius;
        lane->left_normals = 2;
    }
    return lane->normals[--lane->left_normals];
}

static double gg_gamma_number(gg_lane *lane, double alpha) {
    if (!(alpha > 0)) return NAN;
    if (alpha == 1) return -log1p(-gg_next_unit(lane));
    const double d = alpha + (alpha < 1 ? 2.0 / 3 : -1.0 / 3), c = 1.0 / 3 / sqrt(d);
    double v;
    for (;;) {
        const double x = gg_next_normal(lane), root = 1 + c * x;
        if (!(root > 0)) continue;
        v = root * root * root;
        const double u = gg_next_unit(lane);
        if (u < 1 - 0.0331 * (x * x) * (x * x)) break;
        if (log(u) < 0.5 * x * x + d * (1 - v + log(v))) break;
    }
    return alpha < 1 ? d * v * pow(gg_next_unit(lane), 1 / alpha) : d * v;
}

static double gg_poisson_number(gg_lane *lane, double rate) {
    if (!(rate >= 0 && rate < INFINITY)) return NAN;
    if (rate < 10) { /* Knuth */
        const double limit = exp(-rate);
        double product = 1;
        for (int64_t count = 0;; count++)
            if ((product *= gg_next_unit(lane)) <= limit) return (double)count;
    }
    const double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    for (;;) { /* Hoermann's PTRS */
        const double u = gg_next_unit(lane) - 0.5, v = gg_next_unit(lane), us = 0.5 - fabs(u);
        const double k = floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
        if (!(k >= 0) || !(us >= 0.013 || v <= us)) continue;
        const double scale = (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b);
        if (log(v * scale) <= -rate + k * log(rate) - lgamma(k + 1)) return k;
    }
}

typedef struct {
    gg_stream stream;
    double (*number)(gg_lane *lane, double parameter);
    const double *parameters;
    double *out;
    int64_t count;
} gg_rejections;

static void gg_rejection_part(void *block, int64_t which) {
    const gg_rejections *all = block;
    const int64_t first = which * GG_DRAWN, count = gg_min(GG_DRAWN, all->count - first);
    gg_words words[GG_FIRST_BLOCKS];
    uint64_t offsets[GG_DRAWN];
    for (int k = 0; k < GG_FIRST_BLOCKS; k++) {
        for (int64_t i = 0; i < count; i++)
            offsets[i] = (uint64_t)(first + i) * GG_RANDOM_RESERVED + (uint64_t)k;
        gg_philox(&all->stream, offsets, count, words + k);
    }
    for (int64_t i = 0; i < count; i++) {
        gg_lane lane = {.stream = &all->stream, .words = words, .which = i};
        lane.first = (uint64_t)(first + i) * GG_RANDOM_RESERVED;
        all->out[first + i] = all->number(&lane, all->parameters[first + i]);
    }
}

static void gg_rejection_plan(gg_source *source) {
    const int64_t n = source->parameters[0];
    source->count[0] = 8, source->count[1] = source->count[2] = 2 * n;
    gg_set_work(source, 50.0 * n);
}

static int gg_rejection(gg_source *source, double (*number)(gg_lane *, double)) {
    const uint64_t *position = source->at[0];
    gg_rejections all = {{position[0], position[1], position[2]}, number, source->at[1],
                         source->at[2], source->parameters[0]};
    source->parallel(gg_rejection_part, &all, gg_ceil(all.count, GG_DRAWN), source->threads);
    return 0;
}

void gg_gamma_plan_f32(gg_source *source) { gg_rejection_plan(source); }
void gg_poisson_plan_f32(gg_source *source) { gg_rejection_plan(source); }
int gg_gamma_f32(void *block) { return gg_rejection(block, gg_gamma_number); }
int gg_poisson_f32(void *block) { return gg_rejection(block, gg_poisson_number); }

#endif
