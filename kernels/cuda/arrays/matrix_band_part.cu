/* Matrices with zeros outside a band: the columns `least` to `most` above their row are kept.
   Blocks are columns x rows; `total` counts the rows of all matrices.

   variants: ITEM=uint8_t,uint16_t,uint32_t,uint64_t,uint4 */

#include "gpu_kernel.cuh"

extern "C" __global__ void gg_band(const ITEM *x, ITEM *out, long long total, long long rows, long long columns, long long least, long long most) {
    for (long long at = (long long)blockIdx.x * blockDim.y + threadIdx.y; at < total; at += (long long)gridDim.x * blockDim.y) {
        const long long row = at % rows, first = row + least, last = row + most;
        for (long long column = (long long)blockIdx.y * blockDim.x + threadIdx.x; column < columns; column += (long long)gridDim.y * blockDim.x)
            out[at * columns + column] = column >= first && column <= last ? x[at * columns + column] : ITEM();
    }
}
