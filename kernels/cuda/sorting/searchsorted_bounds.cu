/* The positions of values in sorted rows, NaNs last: before equal elements, or after them.

   variants: ELEMENT=float32,float16,int8,int64 OUTPUT=int32_t,int64_t */

#include "gpu_kernel.cuh"


extern "C" __global__ void gg_bound(const ELEMENT *sorted, const ELEMENT *values, OUTPUT *out, long long total, long long size, long long count, long long after) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += stride) {
        const ELEMENT *row = sorted + at / count * size;
        const ELEMENT_VALUE value = ELEMENT_LOAD(values[at]);
        long long low = 0, high = size;
        while (low < high) {
            const long long middle = low + (high - low) / 2;
            const ELEMENT_VALUE other = ELEMENT_LOAD(row[middle]);
            if (after ? !(value < other) : other < value) low = middle + 1;
            else high = middle;
        }
        out[at] = (OUTPUT)low;
    }
}
