/* Reverses the first lengths[b] elements of each batch entry b; x is [outer, first, middle,
   second, inner], where one of the two axes counts batch entries (`by_first`), the other one the
   elements. Sets *failed = 1 for a length out of range.

   variants: ITEM=uint8_t,uint16_t,uint32_t,uint64_t,uint4 INDEX=int32_t,int64_t */

#include "gpu_kernel.cuh"

extern "C" __global__ void gg_reverse(const ITEM *x, const INDEX *lengths, ITEM *out, int *failed, long long rows, long long first, long long middle, long long second, long long inner, long long by_first) {
    for (long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y; row < rows; row += (long long)gridDim.x * blockDim.y) {
        long long rest = row / second;
        const long long j = row - rest * second, above = rest / middle, between = rest - above * middle;
        const long long outside = above / first, i = above - outside * first;
        const long long length = lengths[by_first ? i : j], at = by_first ? j : i;
        if (length < 0 || length > (by_first ? second : first)) *failed = 1;
        const long long other = at < length ? length - 1 - at : at;
        const long long from = by_first ? ((outside * first + i) * middle + between) * second + other
                                        : ((outside * first + other) * middle + between) * second + j;
        for (long long column = (long long)blockIdx.y * blockDim.x + threadIdx.x; column < inner; column += (long long)gridDim.y * blockDim.x)
            out[row * inner + column] = length < 0 || length > (by_first ? second : first) ? ITEM() : x[from * inner + column];
    }
}
