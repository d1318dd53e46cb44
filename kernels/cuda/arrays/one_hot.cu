/* One of two values, depending on whether an index is the position along an axis of `depth`; out
   is [outer, depth, inner], of which `rows` are outer x depth. Blocks are columns x rows.

   variants: ITEM=uint8_t,uint16_t,uint32_t,uint64_t,uint4 INDEX=int32,int64 */

#include "gpu_kernel.cuh"

extern "C" __global__ void gg_one_hot(const INDEX *indices, const ITEM *on, const ITEM *off, ITEM *out, long long rows, long long depth, long long inner) {
    const ITEM hot = *on, cold = *off;
    for (long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y; row < rows; row += (long long)gridDim.x * blockDim.y) {
        const long long outer = row / depth, place = row - outer * depth;
        for (long long column = (long long)blockIdx.y * blockDim.x + threadIdx.x; column < inner; column += (long long)gridDim.y * blockDim.x)
            out[row * inner + column] = (long long)indices[outer * inner + column] == place ? hot : cold;
    }
}

/* The same along the last axis: rows are those of the indices. */
extern "C" __global__ void gg_one_hot_rows(const INDEX *indices, const ITEM *on, const ITEM *off, ITEM *out, long long rows, long long depth) {
    const ITEM hot = *on, cold = *off;
    for (long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y; row < rows; row += (long long)gridDim.x * blockDim.y) {
        const long long place = (long long)indices[row];
        for (long long column = (long long)blockIdx.y * blockDim.x + threadIdx.x; column < depth; column += (long long)gridDim.y * blockDim.x)
            out[row * depth + column] = column == place ? hot : cold;
    }
}
