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

__device__ __forceinline__ void copyBox4(uint32_t to, const TensorMap& map, uint32_t barrier, int x, int y, int z, int w) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
               ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
#endif
}

// To the same place of both blocks of a cluster of two; each counts the bytes at its own barrier.
__device__ __forceinline__ void copyBox4ToBoth(uint32_t to, const TensorMap& map, uint32_t barrier, int x, int y, int z, int w) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%3, %4, %5, %6}], [%2], %7;"
               ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w), "h"(uint16_t(3)) : "memory");
#endif
}

__device__ __forceinline__ void copyBox5(uint32_t to, const TensorMap& map, uint32_t barrier, int x, int y, const int (&z)[3]) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
               ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z[0]), "r"(z[1]), "r"(z[2]) : "memory");
#endif
}

// Rows of a product that are positions of an image, from (x, y, image) on, as many as the map says, in the order of the
// output: TMA steps on by the map's strides and wraps at the borders of its bounding box. Each is read (byX, byY) further.
__device__ __forceinline__ void copyPositions4(uint32_t to, const TensorMap& map, uint32_t barrier, int channel, int x, int y,
                                               int image, int byX, int byY) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
               ::"r"(to), "l"(&map), "r"(barrier), "r"(channel), "r"(x), "r"(y), "r"(image), "h"(uint16_t(byX)), "h"(uint16_t(byY))
               : "memory");
#endif
}

__device__ __forceinline__ void copyPositions5(uint32_t to, const TensorMap& map, uint32_t barrier, int channel, int x, int y, int z,
                                               int image, int byX, int byY, int byZ) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10};"
               ::"r"(to), "l"(&map), "r"(barrier), "r"(channel), "r"(x), "r"(y), "r"(z), "r"(image), "h"(uint16_t(byX)),
                 "h"(uint16_t(byY)), "h"(uint16_t(byZ)) : "memory");
#endif
}

// What this thread wrote to shared memory becomes visible to TMA.
__device__ __forceinline__ void fenceForCopies() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// A box from shared memory to the tensor; what of it lies beyond the tensor's edges goes nowhere.
__device__ __forceinline__ void storeBox3(const TensorMap& map, uint32_t from, int x, int y, int z) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
               ::"l"(&map), "r"(from), "r"(x), "r"(y), "r"(z) : "memory");
#endif
}

__device__ __forceinline__ void storeBox4(const TensorMap& map, uint32_t from, int x, int y, int z, int w) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
               ::"l"(&map), "r"(from), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
#endif
}

__device__ __forceinline__ void storeBox5(const TensorMap& map, uint32_t from, int x, int y, const int (&z)[3]) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];"
               ::"l"(&map), "r"(from), "r"(x), "r"(y), "r"(z[0]), "r"(z[1]), "r"(z[2]) : "memory");
#endif
}

__device__ __forceinline__ void commitStores() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}

// Until all that this thread stored was read from shared memory.
__device__ __forceinline__ void waitStoresRead() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}
