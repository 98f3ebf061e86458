// Blocks that run at once on neighbouring multiprocessors and reach each other's shared memory (sm_90), one function a PTX
// instruction.
#pragma once
#include <cstdint>

// Of this block in its cluster.
__device__ __forceinline__ int rankInCluster() {
  int rank = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}

// Until all threads of all its blocks are here, in whole warps. Memory is not ordered by it: that would wait for every store before.
__device__ __forceinline__ void syncCluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
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
