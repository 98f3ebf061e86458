// Boxes of tensors to shared memory by TMA (the Tensor Memory Accelerator, sm_90), one function a PTX instruction. What lies beyond the
// tensor's edges is zero. A box counts its bytes at the barrier.
#pragma once
#include <cstdint>

// CUtensorMap, which the host encodes.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

__device__ __forceinline__ void prefetchMap(const TensorMap& map) {
#if __CUDA_ARCH__ >= 900
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#endif
}

// Coordinates count elements, the innermost axis first.
__device__ __forceinline__ void copyBox3(uint32_t to, const TensorMap& map, uint32_t barrier, int x, int y, int z) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
               ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z) : "memory");
#endif
}

__device__ __forceinline__ void copyBox5(uint32_t to, const TensorMap& map, uint32_t barrier, int x, int y, const int (&z)[3]) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
               ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z[0]), "r"(z[1]), "r"(z[2]) : "memory");
#endif
}
