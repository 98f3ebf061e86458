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

// Barriers that this thread initialized become visible to TMA.
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

// COUNT arrivals at once.
template <int COUNT>
__device__ __forceinline__ void arriveFor(uint32_t barrier) {
#if defined(TC_LINT_BARRIERS)
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(COUNT) : "memory");
#endif
}

// Until the phase of this parity is over.
__device__ __forceinline__ void waitBarrier(uint32_t barrier, int parity) {
#if defined(TC_LINT_BARRIERS)
  uint32_t isOver = 0;
  while (isOver == 0) {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, p;\n}"
                 : "=r"(isOver) : "r"(barrier), "r"(parity) : "memory");
  }
#endif
}

// Until all THREADS of a group are here; `group` counts from 0. The barrier of the whole block is another one.
template <int THREADS>
__device__ __forceinline__ void syncGroup(int group) {
  asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(THREADS) : "memory");
}
