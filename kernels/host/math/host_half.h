/* Arrays of float16 or bfloat16 as arrays of float, and back, rounded to the nearest even.

   Parameters: the number of elements; whether they are bfloat16. */

#ifndef GG_HALF
#define GG_HALF

#define GG_HALF_PART 16384

typedef struct {
    const void *from;
    void *to;
    int64_t count, brain;
} gg_half_job;
#endif

static void GG_NAME(gg_half_plan)(gg_source *source) {
    source->count[0] = source->count[1] = source->parameters[0];
    gg_set_work(source, source->parameters[0] * 0.3);
}

static void GG_NAME(gg_widen_part)(void *block, int64_t which) {
    const gg_half_job *job = block;
    const int64_t end = gg_min(job->count, (which + 1) * GG_HALF_PART);
    const uint16_t *from = job->from;
    gg_real *to = job->to;
    if (job->brain)
        GG_LOOP for (int64_t i = which * GG_HALF_PART; i < end; i++) to[i] = gg_from_bfloat16(from[i]);
    else
        GG_LOOP for (int64_t i = which * GG_HALF_PART; i < end; i++) to[i] = gg_from_half(from[i]);
}

static void GG_NAME(gg_narrow_part)(void *block, int64_t which) {
    const gg_half_job *job = block;
    const int64_t end = gg_min(job->count, (which + 1) * GG_HALF_PART);
    const gg_real *from = job->from;
    uint16_t *to = job->to;
    if (job->brain)
        GG_LOOP for (int64_t i = which * GG_HALF_PART; i < end; i++) to[i] = gg_to_bfloat16(from[i]);
    else
        GG_LOOP for (int64_t i = which * GG_HALF_PART; i < end; i++) to[i] = gg_to_half(from[i]);
}

static int GG_NAME(gg_half_run)(gg_source *source, gg_part part) {
    gg_half_job job = {source->at[0], source->at[1], source->parameters[0], source->parameters[1]};
    source->parallel(part, &job, gg_ceil(job.count, GG_HALF_PART), source->threads);
    return GG_DONE;
}

void GG_NAME(gg_widen_plan)(gg_source *source) { GG_NAME(gg_half_plan)(source); }
void GG_NAME(gg_narrow_plan)(gg_source *source) { GG_NAME(gg_half_plan)(source); }
int GG_NAME(gg_widen)(void *block) { return GG_NAME(gg_half_run)(block, GG_NAME(gg_widen_part)); }
int GG_NAME(gg_narrow)(void *block) { return GG_NAME(gg_half_run)(block, GG_NAME(gg_narrow_part)); }
