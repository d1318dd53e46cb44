/* Classes sampled by log probabilities: cumulative sums of probabilities along each row, in which
   random numbers are then looked up. All in double precision, as on the host.

   variants: T=half,float,double,int64 OUT=int64_t SEED=int32_t
   variants: T=float OUT=int32_t SEED=int64_t */

#include "philox.cuh"

GG_INLINE double gg_larger(double x, double y) { return x > y ? x : y; }

/* sums[row, c]: of exp(logits - the maximum) up to class c; logits that are not finite count 0. A
   block of 256 threads for each row, in pieces of 256 classes. */
extern "C" __global__ void gg_class_sums(const T *logits, double *sums, long long rows, long long classes) {
    __shared__ double of_warp[8];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const T *given = logits + row * classes;
        double largest = -1.7976931348623157e308;
        for (long long c = threadIdx.x; c < classes; c += 256) {
            const double x = (double)T_LOAD(given[c]);
            if (isfinite(x)) largest = gg_larger(largest, x);
        }
        largest = gg_block<double, gg_larger>(largest);
        double before = 0;
        for (long long first = 0; first < classes; first += 256) {
            const long long c = first + threadIdx.x;
            const double x = c < classes ? (double)T_LOAD(given[c]) : (double)INFINITY;
            double sum = isfinite(x) ? exp(x - largest) : 0.0;
            for (int by = 1; by < 32; by <<= 1) {
                const double left = __shfl_up_sync(GG_FULL, sum, by);
                if (lane >= by) sum += left;
            }
            if (lane == 31) of_warp[warp] = sum;
            __syncthreads();
            double own = 0;
            for (int other = 0; other < 8; other++) {
                if (other == warp) own = before;
                before += of_warp[other];
            }
            if (c < classes) sums[row * classes + c] = own + sum;
            __syncthreads();
        }
    }
}

/* The number of a row's sums that are not above x. */
GG_INLINE long long gg_class_of(const double *sums, long long classes, double x) {
    long long low = 0, high = classes;
    while (low < high) {
        const long long middle = (low + high) >> 1;
        if (sums[middle] > x) high = middle;
        else low = middle + 1;
    }
    return low;
}

GG_INLINE void gg_draw(const double *sums, OUT *out, const gg_place &place, long long total, long long count, long long classes) {
    const long long pairs = (total + 1) / 2, stride = (long long)gridDim.x * blockDim.x;
    for (long long pair = (long long)blockIdx.x * blockDim.x + threadIdx.x; pair < pairs; pair += stride) {
        const gg_words w = gg_philox(place, (gg_word)pair);
        for (int i = 0; i < 2 && 2 * pair + i < total; i++) {
            const long long at = 2 * pair + i;
            const double *row = sums + at / count * classes;
            const double x = gg_unit(w.of[2 * i], w.of[2 * i + 1]) * row[classes - 1];
            out[at] = (OUT)gg_class_of(row, classes, x);
        }
    }
}

/* `count` classes of each row, by the next numbers of a stream, which advances by `blocks`. */
extern "C" __global__ void gg_classes(const double *sums, OUT *out, unsigned long long *stream, long long blocks, long long total, long long count, long long classes) {
    gg_draw(sums, out, gg_taken(stream, (gg_word)blocks), total, count, classes);
}

/* The same with the numbers of a seed. */
extern "C" __global__ void gg_stateless_classes(const double *sums, OUT *out, const SEED *seed, long long total, long long count, long long classes) {
    gg_draw(sums, out, gg_of_seed(seed[0], seed[1]), total, count, classes);
}
