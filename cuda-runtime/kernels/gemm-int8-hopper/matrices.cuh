// How HopperCodes gets tiles of two matrices.
#pragma once
#include "hopper-codes.cuh"

// Boxes of 128 bytes along k.
template <Stored STORED, int BM, int BN>
struct MatrixTiles {
  static constexpr int kRowBytes = 128;
  static constexpr Stored kStored = STORED;
  const CodeMapsParams& maps;
  const int m, n, batchA, batchB;
  int k = 0;

  static __device__ __forceinline__ int stepsOf(const CodeMapsParams& maps) { return (maps.p.k + kRowBytes - 1) / kRowBytes; }

  __device__ __forceinline__ MatrixTiles(const CodeMapsParams& maps, int m, int n, int batch)
      : maps(maps), m(m), n(n), batchA(maps.p.aBatch == 0 ? 0 : batch), batchB(maps.p.bBatch == 0 ? 0 : batch) {}

  // To a step along k.
  __device__ __forceinline__ void skip(int steps) { k += steps * kRowBytes; }

  __device__ __forceinline__ void copy(uint32_t toA, uint32_t toB, uint32_t barrier) {
    copyBox3(toA, maps.a, barrier, k, m, batchA);
    copyBox3(toB, maps.b, barrier, k, n, batchB);
    k += kRowBytes;
  }
};
