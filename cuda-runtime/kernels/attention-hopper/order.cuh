// Turns of warpgroups at the Tensor Cores: group 0 issues its products, then the next one, and round again.
#pragma once
#include <cstdint>

template <int GROUPS> struct Order {
  const int group, turns;

  __device__ __forceinline__ Order(int group, int turns) : group(group), turns(turns) {
    if (turns > 0) arriveAt(0, group);
  }

  // Behind barriers of the block and of its groups.
  static __device__ __forceinline__ int idOf(int group) { return GROUPS + 1 + group; }

  // A barrier opens a group's turn once all others have had theirs; those behind it count as having had one before the first.
  __device__ __forceinline__ void arriveAt(int begin, int end) const {
#pragma unroll
    for (int other = 0; other < GROUPS; ++other) {
      if (other >= begin && other < end) asm volatile("bar.arrive %0, %1;" ::"r"(idOf(other)), "n"(GROUPS * 128) : "memory");
    }
  }

  __device__ __forceinline__ void wait() const {
    if constexpr (GROUPS > 1) asm volatile("bar.sync %0, %1;" ::"r"(idOf(group)), "n"(GROUPS * 128) : "memory");
  }

  // Turn number `turn`, from 1, is over. Groups in front have no further one after the last.
  __device__ __forceinline__ void pass(int turn) const {
    if constexpr (GROUPS > 1) {
      arriveAt(group + 1, GROUPS);
      if (turn < turns) arriveAt(0, group);
    }
  }
};
