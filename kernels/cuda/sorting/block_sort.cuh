/* Pairs (key, number) sorted in shared memory, by one block. Macro KEY: the type of the keys. */

#pragma once

/* Sorts `padded` pairs (a power of 2) of shared memory, ascending, by all threads of the block. */
GG_INLINE void gg_sort_shared(KEY *keys, int32_t *numbers, int padded) {
    for (int size = 2; size <= padded; size <<= 1) {
        for (int half = size >> 1; half; half >>= 1) {
            __syncthreads();
            for (int pair = threadIdx.x; pair < padded >> 1; pair += blockDim.x) {
                const int low = ((pair & ~(half - 1)) << 1) | (pair & (half - 1)), high = low | half;
                const KEY a = keys[low], b = keys[high];
                const int32_t i = numbers[low], j = numbers[high];
                if ((a > b || (a == b && i > j)) == ((low & size) == 0)) {
                    keys[low] = b, keys[high] = a;
                    numbers[low] = j, numbers[high] = i;
                }
            }
        }
    }
    __syncthreads();
}
