/* The index of the best element along an axis, the first of equals; x is [before, size, after].
   BETTER(a, b): a < or > b; NaNs count as WORST. OUTPUT: int32_t or int64_t.

   Blocks are 256 threads: columns times the threads that share a row and column. The axis may be
   divided into `parts`; gg_arg writes the best of each, and gg_arg_of_parts the best of these.

   variants: ELEMENT=float32,float16,int8,int64,bool OUTPUT=int32_t,int64_t */

#include "gpu_kernel.cuh"

#ifndef BETTER
#define BETTER(a, b) ((a) > (b))
#define WORST (ELEMENT_VALUE)0
#endif

GG_INLINE ELEMENT_VALUE gg_value(const ELEMENT *x, long long at) {
    const ELEMENT_VALUE value = ELEMENT_LOAD(x[at]);
    return value == value ? value : WORST;
}

extern "C" __global__ void gg_arg(const ELEMENT *x, OUTPUT *out, long long rows, long long size, long long after, long long parts, long long part) {
    __shared__ ELEMENT_VALUE top[256];
    __shared__ long long place[256];
    const int wide = blockDim.x, lanes = blockDim.y, lane = threadIdx.y;
    const int thread = threadIdx.x + wide * (lane + lanes * threadIdx.z);
    for (long long base = (long long)blockIdx.x * blockDim.z; base < rows; base += (long long)gridDim.x * blockDim.z) {
        const long long row = base + threadIdx.z, whole = row / parts;
        const long long first = (row - whole * parts) * part, end = first + part < size ? first + part : size;
        for (long long left = (long long)blockIdx.y * wide; left < after; left += (long long)gridDim.y * wide) {
            const long long column = left + threadIdx.x;
            const bool there = row < rows && column < after;
            const ELEMENT *from = x + whole * size * after + column;
            ELEMENT_VALUE best = WORST;
            long long found = -1;
            if (there) {
                for (long long at = first + lane; at < end; at += lanes) {
                    const ELEMENT_VALUE value = gg_value(from, at * after);
                    if (found < 0 || BETTER(value, best)) best = value, found = at;
                }
            }
            top[thread] = best;
            place[thread] = found;
            __syncthreads();
            for (int half = lanes >> 1; half; half >>= 1) {
                if (lane < half) {
                    const ELEMENT_VALUE value = top[thread + half * wide];
                    const long long at = place[thread + half * wide], mine = place[thread];
                    if (at >= 0 && (mine < 0 || BETTER(value, top[thread]) || (value == top[thread] && at < mine))) {
                        top[thread] = value;
                        place[thread] = at;
                    }
                }
                __syncthreads();
            }
            if (there && lane == 0) out[row * after + column] = (OUTPUT)place[thread];
            __syncthreads();
        }
    }
}

extern "C" __global__ void gg_arg_of_parts(const ELEMENT *x, const int64_t *found, OUTPUT *out, long long total, long long size, long long after, long long parts) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += stride) {
        const long long row = at / after, column = at - row * after;
        const ELEMENT *from = x + row * size * after + column;
        long long place = found[row * parts * after + column];
        ELEMENT_VALUE best = gg_value(from, place * after);
        for (long long part = 1; part < parts; part++) {
            const long long other = found[(row * parts + part) * after + column];
            const ELEMENT_VALUE value = gg_value(from, other * after);
            if (BETTER(value, best)) best = value, place = other;
        }
        out[at] = (OUTPUT)place;
    }
}
