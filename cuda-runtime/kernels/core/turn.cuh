// A place in a ring of stages, and the parity of its barriers' phases there.
#pragma once

// Counts through the ring.
template <int STAGES>
struct Turn {
  int stage = 0;
  int parity = 0;

  __device__ __forceinline__ void next() {
    stage = stage + 1 == STAGES ? 0 : stage + 1;
    if (stage == 0) parity ^= 1;
  }

  __device__ __forceinline__ void skip(int tiles) {
    const int at = stage + tiles;
    parity ^= at / STAGES & 1;
    stage = at % STAGES;
  }
};
