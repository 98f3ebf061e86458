// In every kernel, before it reads or writes what launches do, and before any of its threads ends: launches overlap.
#pragma once

// From sm_90 on a kernel may be launched before the one in front of it is done (programmatic dependent launch): its
// blocks wait here, already in place, and let those of the next kernel come in behind them.
__device__ __forceinline__ void beginKernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// The other way round: blocks of the next kernel come in, and fetch what does not depend on launches, while these wait. For kernels of short
// blocks that leave them room; where it was measured to pay (ADR 57).
__device__ __forceinline__ void beginKernelEarly() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The line at an address is on its way to L2. Harmless whatever lies there and whoever writes it: before beginKernel() too.
__device__ __forceinline__ void prefetchToL2(const void* from) { asm volatile("prefetch.global.L2 [%0];" ::"l"(from)); }
