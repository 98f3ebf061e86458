// Blocks of one cluster that compute a product together (sm_90): they run at once on neighbouring multiprocessors and reach each other's
// shared memory. One function a PTX instruction, or two.
#pragma once
#include <cstdint>

// Of this block.
__device__ __forceinline__ int rankInTeam() {
  int rank = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}

__device__ __forceinline__ int blocksOfTeam() {
  int blocks = 1;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
#endif
  return blocks;
}

// Every thread leaves once all of the team have arrived; warps come whole. ORDERS: what was written to shared memory before is seen
// behind the wait by all. That waits for all stores before, those to global memory too.
template <bool ORDERS>
__device__ __forceinline__ void arriveTeam() {
#if __CUDA_ARCH__ >= 900
  if constexpr (ORDERS) asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  else asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ void waitTeam() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Arrives at the barrier that lies in block `rank` where `barrier` lies in this one: for what the Tensor Cores have read, which is
// over when it has been waited for. With a release for the cluster it is a fence of the whole GPU and drops L1 (machine code of
// CUDA 13.0: two MEMBAR and a CCTL in front of it).
__device__ __forceinline__ void arriveAt(uint32_t barrier, int rank) {
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [remote];\n}"
               ::"r"(barrier), "r"(rank) : "memory");
#endif
}

// From where block `rank` has what this one has at `own`.
__device__ __forceinline__ float4 loadOf(uint32_t own, int rank) {
  float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n.reg .b32 at;\nmapa.shared::cluster.u32 at, %4, %5;\nld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [at];\n}"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(own), "r"(rank) : "memory");
#endif
  return v;
}
