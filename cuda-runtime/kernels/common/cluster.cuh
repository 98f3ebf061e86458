// Clusters of blocks (sm_90): barriers over all their threads, and loads from each other's shared memory.
#pragma once
#include <cstdint>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define TC_LINT_CLUSTERS 1
#endif

// What this thread wrote to shared memory is seen by all threads of the cluster behind their wait.
__device__ __forceinline__ void arriveCluster() {
#if defined(TC_LINT_CLUSTERS)
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#else
  __trap();  // Nothing launches clusters here.
#endif
}

__device__ __forceinline__ void waitCluster() {
#if defined(TC_LINT_CLUSTERS)
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Of the block of this rank, at the place that `own` has in the shared memory of this one.
__device__ __forceinline__ float2 loadFromBlock(const float2* own, int rank) {
  float2 value = make_float2(0.0f, 0.0f);
#if defined(TC_LINT_CLUSTERS)
  uint32_t at;
  const uint32_t here = static_cast<uint32_t>(__cvta_generic_to_shared(own));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(here), "r"(rank));
  asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];" : "=f"(value.x), "=f"(value.y) : "r"(at) : "memory");
#endif
  return value;
}

__device__ __forceinline__ float loadFromBlock(const float* own, int rank) {
  float value = 0.0f;
#if defined(TC_LINT_CLUSTERS)
  uint32_t at;
  const uint32_t here = static_cast<uint32_t>(__cvta_generic_to_shared(own));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(here), "r"(rank));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(at) : "memory");
#endif
  return value;
}

// 16 bytes, to the block of this rank, at the place that `own` has in the shared memory of this one; they count for its `barrier`.
__device__ __forceinline__ void storeToBlock(const void* own, uint32_t barrier, int rank, const uint32_t (&words)[4]) {
#if defined(TC_LINT_CLUSTERS)
  uint32_t at, counts;
  const uint32_t here = static_cast<uint32_t>(__cvta_generic_to_shared(own));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(here), "r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(counts) : "r"(barrier), "r"(rank));
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
               ::"r"(at), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(counts) : "memory");
#endif
}
