// Barriers in shared memory that count arrivals and bytes (mbarrier, sm_90), one function a PTX instruction.
#pragma once
#include <cstdint>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define TC_LINT_BARRIERS 1
#endif

__device__ __forceinline__ void initBarrier(uint32_t barrier, int arrivals) {
#if defined(TC_LINT_BARRIERS)
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
#endif
}

// Barriers that this thread initialized become visible to the copy engine and to the other blocks of the cluster.
__device__ __forceinline__ void fenceBarrierInit() {
#if defined(TC_LINT_BARRIERS)
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

// One arrival, which says that `bytes` more are to come in this phase.
__device__ __forceinline__ void arriveExpecting(uint32_t barrier, int bytes) {
#if defined(TC_LINT_BARRIERS)
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
#endif
}

__device__ __forceinline__ void arrive(uint32_t barrier) {
#if defined(TC_LINT_BARRIERS)
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#endif
}

// One arrival at the barrier of the same address in block `rank` of the cluster.
__device__ __forceinline__ void arriveAt(uint32_t barrier, int rank) {
#if defined(TC_LINT_BARRIERS)
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier), "r"(rank) : "memory");
#endif
}

// Until the phase of this parity is over. CLUSTER: other blocks arrive too.
template <bool CLUSTER = false>
__device__ __forceinline__ void waitBarrier(uint32_t barrier, int parity) {
#if defined(TC_LINT_BARRIERS)
  uint32_t isOver = 0;
  while (isOver == 0) {
    if constexpr (CLUSTER) {
      asm volatile(
          "{\n.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, p;\n}"
          : "=r"(isOver) : "r"(barrier), "r"(parity) : "memory");
    } else {
      asm volatile(
          "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, p;\n}"
          : "=r"(isOver) : "r"(barrier), "r"(parity) : "memory");
    }
  }
#endif
}

// Which block of its cluster this is.
__device__ __forceinline__ int clusterRank() {
  uint32_t rank = 0;
#if defined(TC_LINT_BARRIERS)
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}

// All threads of all blocks of the cluster; what they wrote before is seen after.
__device__ __forceinline__ void syncCluster() {
#if defined(TC_LINT_BARRIERS)
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// A warpgroup gives registers back beyond COUNT a thread …
template <int COUNT>
__device__ __forceinline__ void keepRegisters() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
}

// … and another one takes them.
template <int COUNT>
__device__ __forceinline__ void takeRegisters() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
}
