// The first statement of every kernel: launches overlap.
#pragma once

// From sm_90 on a kernel may be launched before the one in front of it is done (programmatic dependent launch): its
// blocks wait here, already in place. They let those of the next kernel come in behind them before they wait, so that several
// launches stand ready, and one that reads weights ahead does so while small ones in front of it run. A kernel's end implies
// the ends of all before it, since each waits for its predecessor.
__device__ __forceinline__ void beginKernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
