/* Whether each row's target is among its k largest, including ties: a block of 256 threads for
   each row. False for a target out of range, and for rows that are not finite.

   variants: INDEX=int32_t,int64_t */

#include "gpu_kernel.cuh"

GG_INLINE long long gg_add(long long a, long long b) { return a + b; }

extern "C" __global__ void gg_in_top(const float *predictions, const INDEX *targets, uint8_t *out, long long rows, long long classes, long long k) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const float *mine = predictions + row * classes;
        const long long target = targets[row];
        const bool there = target >= 0 && target < classes;
        const float value = there ? mine[target] : 0.0f;
        long long above = 0;
        for (long long at = threadIdx.x; at < classes; at += 256) {
            const float other = mine[at];
            above += !isfinite(other) ? classes + 1 : other > value;
        }
        above = gg_block<long long, gg_add>(above);
        if (threadIdx.x == 0) out[row] = there && above < k && above <= classes;
    }
}
