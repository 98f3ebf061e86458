// Blocks that wait for each other in global memory. All of them run at the same time: a grid has no more of them than the GPU has
// multiprocessors, and what depends on it comes in only behind the last of them (launch.cuh). What runs beside it (ADR 56) waits for
// grids alone all of whose blocks have begun, so that it ends and leaves room; of two such grids one comes behind the other
// (plan/needs.ts), as they count in the same memory.
#pragma once
#include <cstdint>

constexpr int kMeetingBlocks = 160;

// One counter a meeting, each in a line of its own. Every meeting adds 2^16 to its counter, however many blocks there are, so that
// none is ever set back and it may overflow.
__device__ uint32_t meetingCounters[kMeetingBlocks][32];

// One at a time of a block, by its first thread.
struct Meeting {
  static constexpr uint32_t kWhole = 1u << 16;
  int number;

  // What all of the meetings before came to: others may have arrived at this one, but never all, since this block has not.
  __device__ __forceinline__ static uint32_t& before() {
    __shared__ uint32_t sum;
    return sum;
  }
  __device__ __forceinline__ uint32_t* counter() const { return meetingCounters[number]; }
  __device__ __forceinline__ void begin() const {
    if (threadIdx.x == 0) before() = *static_cast<volatile uint32_t*>(counter()) & ~(kWhole - 1);
  }
  // Those who have waited see what this thread, and those that it waited for, wrote before.
  __device__ __forceinline__ void arrive(int block, int blocks) const {
    if (threadIdx.x != 0) return;
    const uint32_t own = block == 0 ? kWhole - static_cast<uint32_t>(blocks - 1) : 1u;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(counter()), "r"(own) : "memory");
#endif
  }
  __device__ __forceinline__ void wait() const {
    if (threadIdx.x != 0) return;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    uint32_t now;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(counter()) : "memory");
    } while (now - before() < kWhole);
#endif
  }
};
