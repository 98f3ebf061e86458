// Weights into L2 before the launches that read them. Nothing waits for it, and it waits for nothing: no beginKernel.
// hot: prefetch
#include "params.generated.cuh"

// A line a thread at a time. Blocks of one warp find room beside those that take nearly all of a multiprocessor.
extern "C" __global__ void __launch_bounds__(32) prefetch(const __grid_constant__ PrefetchParams p) {
  constexpr long long kLine = 128;
  for (long long at = (blockIdx.x * 32 + threadIdx.x) * kLine; at < p.bytes; at += gridDim.x * 32 * kLine)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p.from + at));
}
