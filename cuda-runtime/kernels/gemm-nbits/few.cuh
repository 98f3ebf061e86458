// Products of one or two rows: a token's. What bounds them is memory as long as few instructions are spent on a code, and as loads
// never stop: blocks stay and walk over tiles of 16 weights' rows, each warp over its own part of k, and what a warp has multiplied
// makes room for what it will need four steps later, in the next tile if need be.
//
// mma sums over all four lanes of a quad, whose codes are of four blocks with scales of their own. So rows of a stand in the matrix's
// eight columns four times each, in column t what lane t multiplies and zeros else: column t is then the sum of lane t's codes
// alone, and scale and zero point are applied to the sum of 32 codes instead of each of them.
#pragma once
#include "../common/launch.cuh"
#include "../common/mma.cuh"
#include "pairs.cuh"
#include "params.generated.cuh"
#include "tile-end.cuh"

template <typename T, bool ZEROS> struct FewRows {
  static constexpr int kWarps = 8, kRows = 16;
  // k of a warp's step: four lanes of 32 codes, and steps whose codes are on their way, as many as there are registers for.
  static constexpr int kChunk = 128, kAhead = ZEROS ? 3 : 4;
  // In shared memory: zeros, rows of a in the order of operands, sums of each 32 elements of a row.
  static constexpr int kZeroBytes = 64, kChunkBytes = 2 * kChunk, kChunkSums = kChunk / 32;

  using Pairs = CodePairs<T>;

  struct Step {
    uint4 codes[2];
    uint32_t scales[2];
    uint8_t zeros[2];
  };

  const NBitsParams& q;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, quad = lane % 4;
  const int chunks, begin, end, codes;
  unsigned char* const shared;
  float* const sums;

  __device__ __forceinline__ FewRows(const NBitsParams& q, unsigned char* memory)
      : q(q), chunks(((q.blocks << q.blockShift) + kChunk - 1) / kChunk), begin(warp * chunks / kWarps),
        end((warp + 1) * chunks / kWarps), codes(q.blocks << q.blockShift), shared(memory + kZeroBytes),
        sums(reinterpret_cast<float*>(memory + kZeroBytes + q.p.m * chunks * kChunkBytes)) {}

  // Two neighbouring groups of 32 codes whose scales this lane applies; beyond the last block its own stand for it, times zero.
  __device__ __forceinline__ void load(Step& to, int tile, int chunk) const {
    const int k = min(chunk * kChunk + quad * 32, codes - 32), pair = chunk * kChunkSums + quad % 2 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int64_t row = min(tile * kRows + group + 8 * i, q.p.n - 1);
      to.codes[i] = __ldcs(reinterpret_cast<const uint4*>(q.codes + row * (codes / 2) + k / 2));
      const uint16_t* scales = static_cast<const uint16_t*>(q.scales) + row * q.blocks;
      const int block = min(pair, (codes - 33) / 32 / 2 * 2) >> (q.blockShift - 5);
      if (q.blockShift == 5) to.scales[i] = *reinterpret_cast<const uint32_t*>(scales + block);
      else to.scales[i] = scales[block] * 0x10001u;
      if constexpr (ZEROS) {
        const uint8_t both = q.zeros[row * ((q.blocks + 1) / 2) + block / 2];
        to.zeros[i] = q.blockShift == 5 ? both : static_cast<uint8_t>((both >> (block % 2 * 4) & 15) * 17);
      }
    }
  }

  // The warp's part of each row of a, for itself alone, and zeros for all.
  __device__ __forceinline__ void fill() const {
    if (threadIdx.x < kZeroBytes / 16) reinterpret_cast<uint4*>(shared - kZeroBytes)[threadIdx.x] = make_uint4(0, 0, 0, 0);
    for (int m = 0; m < q.p.m; ++m) {
      const T* a = static_cast<const T*>(q.p.a) + static_cast<int64_t>(m) * q.p.aM;
#pragma unroll 2
      for (int from = begin * (kChunk / 8); from < end * (kChunk / 8); from += 32) {
        const int eight = from + lane;
        uint4 x = make_uint4(0, 0, 0, 0);
        if (eight * 8 < q.p.k) x = *reinterpret_cast<const uint4*>(a + eight * 8);
        uint32_t pairs[4];
        pairsOf(x, pairs);
        const T* elements = reinterpret_cast<const T*>(&x);
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < 8; ++i) sum += toFloat(elements[i]);
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        if (eight >= end * (kChunk / 8)) continue;
        reinterpret_cast<uint4*>(shared + m * chunks * kChunkBytes)[eight] = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
        if (quad == 0) sums[m * chunks * kChunkSums + eight / 4] = sum * (1.0f / Pairs::kUnit);
      }
    }
    __syncthreads();
  }

  __device__ __forceinline__ void multiply(float (&totals)[2], const Step& step, int chunk) const {
    const int m = group / 4;
    const bool isOwn = group % 4 == quad && m < q.p.m;
    const unsigned char* row = isOwn ? shared + (m * chunks + chunk) * kChunkBytes + quad * 64 : shared - kZeroBytes;
    float even[4] = {}, odd[4] = {};
    const uint32_t words[2][4] = {{step.codes[0].x, step.codes[0].y, step.codes[0].z, step.codes[0].w},
                                  {step.codes[1].x, step.codes[1].y, step.codes[1].z, step.codes[1].w}};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      uint32_t upper[4], lower[4];
      Pairs::expand(words[0][i], upper);
      Pairs::expand(words[1][i], lower);
      const uint4 x = reinterpret_cast<const uint4*>(row)[i];
      const uint32_t first[4] = {upper[0], lower[0], upper[2], lower[2]}, second[4] = {upper[1], lower[1], upper[3], lower[3]};
      mma16816(even, first, x.x, x.z, T());
      mma16816(odd, second, x.y, x.w, T());
    }
    // Columns 2 quad and 2 quad + 1: of row quad / 2 of a, two neighbouring groups of 32.
    const int own = min(quad / 2, q.p.m - 1);
    const float2 sum = reinterpret_cast<const float2*>(sums + (own * chunks + chunk) * kChunkSums)[quad % 2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const T* scales = reinterpret_cast<const T*>(&step.scales[i]);
      const float low = (ZEROS ? step.zeros[i] & 15 : 8) + Pairs::kOffset, high = (ZEROS ? step.zeros[i] >> 4 : 8) + Pairs::kOffset;
      const float first = fmaf(odd[2 * i], Pairs::kOdd, even[2 * i]), second = fmaf(odd[2 * i + 1], Pairs::kOdd, even[2 * i + 1]);
      totals[i] = fmaf(toFloat(scales[0]), fmaf(-low, sum.x, first), totals[i]);
      totals[i] = fmaf(toFloat(scales[1]), fmaf(-high, sum.y, second), totals[i]);
    }
  }

  __device__ __forceinline__ void run() const {
    const int tiles = (q.p.n + kRows - 1) / kRows;
    Step steps[kAhead];
    const auto ask = [&](int i, int tile, int chunk) {
      if (tile < tiles && chunk + i < end) load(steps[i], tile, chunk + i);
    };
    // Weights do not change: they are on their way while launches before still compute the rows.
#pragma unroll
    for (int i = 0; i < kAhead; ++i) ask(i, blockIdx.x, begin);
    beginKernel();
    fill();
    int round = 0;
#pragma unroll 1
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, ++round) {
      float totals[2] = {};
#pragma unroll 1
      for (int chunk = begin; chunk < end; chunk += kAhead) {
        const bool isLast = chunk + kAhead >= end;
        const int nextTile = isLast ? tile + gridDim.x : tile, next = isLast ? begin : chunk + kAhead;
#pragma unroll
        for (int i = 0; i < kAhead; ++i) {
          if (chunk + i < end) multiply(totals, steps[i], chunk + i);
          ask(i, nextTile, next);
        }
      }
      finishTile(q, totals, tile, round, Pairs::kUnit);
    }
  }
};
