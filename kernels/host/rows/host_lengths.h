/* Integers that a run computes and that are sizes of later tensors.

   Parameters: how many. Arrays: the integers, then empty outputs for each, at the end the integers
   as int64. A negative integer, which is no size, ends it with GG_FAILED. */

static int GG_NAME(gg_store_lengths)(const gg_source *source, int64_t *to) {
    const gg_real *from = source->at[0];
    for (int64_t i = 0; i < source->parameters[0]; i++) {
        if (from[i] < 0) return GG_FAILED;
        to[i] = (int64_t)from[i];
    }
    return GG_DONE;
}

static void GG_NAME(gg_plan_lengths)(gg_source *source, int64_t last) {
    const int64_t n = source->parameters[0];
    source->count[0] = n;
    for (int64_t k = 1; k < last; k++) source->count[k] = 0;
    source->count[last] = n;
    source->scratch_bytes = 0;
    gg_set_work(source, (double)n);
    source->threads = 1;
}

void GG_NAME(gg_lengths_plan)(gg_source *source) {
    GG_NAME(gg_plan_lengths)(source, 1 + source->parameters[0]);
}

int GG_NAME(gg_lengths)(void *block) {
    gg_source *source = block;
    return GG_NAME(gg_store_lengths)(source, source->at[1 + source->parameters[0]]);
}

/* Without the outputs. */

void GG_NAME(gg_lengths_count_plan)(gg_source *source) { GG_NAME(gg_plan_lengths)(source, 1); }

int GG_NAME(gg_lengths_count)(void *block) {
    gg_source *source = block;
    return GG_NAME(gg_store_lengths)(source, source->at[1]);
}
