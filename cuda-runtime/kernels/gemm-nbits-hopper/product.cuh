// What FewRows (gemm-nbits/few.cuh) is where there is TMA. Each warp has a ring of boxes of its own, 256 codes of 16 weights' rows, which
// it asks for itself: nobody waits for another warp but at the end of a tile, and what is in flight takes no registers.
//
// mma sums over all four lanes of a quad, whose codes are of blocks with scales of their own. So rows of a stand in the matrix's eight
// columns four times each, in column t what lane t multiplies and zeros else: column t is then the sum of lane t's codes alone, and
// scale and zero point are applied to the sum of 32 codes. Lane t has pieces 2 t and 2 t + 1 of a box' eight, one after the other:
// rows that are read together have them in banks of their own, and scales of a lane's columns are neighbours.
#pragma once
#include "../common/barrier.cuh"
#include "../common/launch.cuh"
#include "../common/mma.cuh"
#include "../common/tensor-copy.cuh"
#include "../common/copy.cuh"
#include "../gemm-nbits/pairs.cuh"
#include "../gemm-nbits/tile-end.cuh"
#include "params.generated.cuh"

template <typename T, bool ZEROS> struct NBitsStream {
  static constexpr int kWarps = 8, kRows = 16, kStages = 4;
  // k of a box: a row of 128 bytes, as far as a swizzle spans.
  static constexpr int kChunk = 256, kPieces = kChunk / 32, kRowBytes = kChunk / 2, kBoxBytes = kRows * kRowBytes;
  // In shared memory: the rings, barriers, zeros, rows of a in the order of operands, sums of each 32 elements of a row.
  static constexpr int kRingBytes = kWarps * kStages * kBoxBytes, kBarrierBytes = kWarps * kStages * 8, kZeroBytes = 64;
  static constexpr int kChunkBytes = 2 * kChunk;
  // Boxes' rows of a that are loaded at once.
  static constexpr int kTogether = 5;

  using Pairs = CodePairs<T>;

  // Of four neighbouring pieces, in two rows.
  struct Scales {
    uint2 factors[2];
    uint32_t zeros[2];
  };

  // A warp's boxes one after another: its part of k of one tile, then of the next.
  struct Box {
    int tile, chunk, stage, parity;
  };

  const TensorMap& map;
  const NBitsParams& q;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, quad = lane % 4;
  const int codes, chunks, begin, end, tiles;
  unsigned char* const shared;
  unsigned char *const zeros, *const rows;
  float* const sums;

  __device__ __forceinline__ NBitsStream(const NBitsHopperParams& params, unsigned char* memory)
      : map(params.codes), q(params.q), codes(q.blocks << q.blockShift), chunks((codes + kChunk - 1) / kChunk), begin(warp * chunks / kWarps),
        end((warp + 1) * chunks / kWarps), tiles((q.p.n + kRows - 1) / kRows), shared(memory), zeros(memory + kRingBytes + kBarrierBytes),
        rows(zeros + kZeroBytes), sums(reinterpret_cast<float*>(rows + q.p.m * chunks * kChunkBytes)) {}

  __device__ __forceinline__ uint32_t boxAt(int stage) const {
    return sharedAddress(shared) + (warp * kStages + stage) * kBoxBytes;
  }
  __device__ __forceinline__ uint32_t full(int stage) const {
    return sharedAddress(shared) + kRingBytes + (warp * kStages + stage) * 8;
  }

  __device__ __forceinline__ Box first() const { return {begin < end ? static_cast<int>(blockIdx.x) : tiles, begin, 0, 0}; }

  __device__ __forceinline__ void next(Box& at) const {
    at.stage = (at.stage + 1) % kStages;
    if (at.stage == 0) at.parity ^= 1;
    if (++at.chunk < end) return;
    at.chunk = begin;
    at.tile += gridDim.x;
  }

  // By one lane.
  __device__ __forceinline__ void ask(Box& at) const {
    if (at.tile >= tiles) return;
    arriveExpecting(full(at.stage), kBoxBytes);
    copyBox3(boxAt(at.stage), map, full(at.stage), at.chunk * kRowBytes, at.tile * kRows, 0);
    next(at);
  }

  // Beyond the last code its own scales stand for it: it is multiplied by zeros.
  __device__ __forceinline__ void load(Scales& to, const Box& at) const {
    if (at.tile >= tiles) return;
    const int block = min(at.chunk * kChunk + quad % 2 * (kChunk / 2), codes - kChunk / 2) >> q.blockShift;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int64_t row = min(at.tile * kRows + group + 8 * i, q.p.n - 1);
      const uint16_t* scales = static_cast<const uint16_t*>(q.scales) + row * q.blocks + block;
      if (q.blockShift == 5) {
        to.factors[i] = __ldcs(reinterpret_cast<const uint2*>(scales));
      } else {
        const uint32_t a = scales[0], b = q.blockShift == 6 ? scales[1] : scales[0];
        to.factors[i] = make_uint2(a * 0x10001u, b * 0x10001u);
      }
      if constexpr (ZEROS) to.zeros[i] = zerosOf(row, block);
    }
  }

  // Four neighbouring pieces' zero points, four bits each.
  __device__ __forceinline__ uint32_t zerosOf(int64_t row, int block) const {
    const uint8_t* from = q.zeros + row * ((q.blocks + 1) / 2) + block / 2;
    if (q.blockShift == 5) return *reinterpret_cast<const uint16_t*>(from);
    if (q.blockShift == 6) return (*from & 15) * 0x11u + (*from >> 4) * 0x1100u;
    return (*from >> (block % 2 * 4) & 15) * 0x1111u;
  }

  // The warp's part of each row of a, for itself alone, and zeros for all. Loads are on their way together: each is as long as a launch.
  __device__ __forceinline__ void fill() const {
    if (threadIdx.x < kZeroBytes / 16) reinterpret_cast<uint4*>(zeros)[threadIdx.x] = make_uint4(0, 0, 0, 0);
    for (int m = 0; m < q.p.m; ++m) {
      const T* a = static_cast<const T*>(q.p.a) + static_cast<int64_t>(m) * q.p.aM;
#pragma unroll 1
      for (int from = begin; from < end; from += kTogether) {
        uint4 x[kTogether];
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          const int k = (from + i) * kChunk + lane * 8;
          x[i] = make_uint4(0, 0, 0, 0);
          if (from + i < end && k < q.p.k) x[i] = *reinterpret_cast<const uint4*>(a + k);
        }
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          if (from + i < end) put(x[i], m * chunks + from + i);
        }
      }
    }
  }

  // Eight elements of a box' row, by each lane.
  __device__ __forceinline__ void put(const uint4& x, int own) const {
    uint32_t pairs[4];
    pairsOf(x, pairs);
    const T* elements = reinterpret_cast<const T*>(&x);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += toFloat(elements[i]);
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    // Pieces that are multiplied together lie side by side.
    const int piece = group % 2 * 4 + group / 2;
    reinterpret_cast<uint4*>(rows + own * kChunkBytes)[piece * 4 + quad] = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    if (quad == 0) sums[own * kPieces + piece] = sum * (1.0f / Pairs::kUnit);
  }

  __device__ __forceinline__ void take(uint4 (&words)[2][2], int stage) const {
    const uint32_t from = boxAt(stage) + group * kRowBytes;
#pragma unroll
    for (int s = 0; s < 2; ++s) {
#pragma unroll
      for (int i = 0; i < 2; ++i) words[s][i] = loadShared16(from + i * 8 * kRowBytes + ((2 * quad + s) ^ group) * 16);
    }
  }

  __device__ __forceinline__ void multiply(float (&totals)[2], const uint4 (&words)[2], const Scales& scales, int chunk, int s) const {
    const int m = group / 4;
    const bool isOwn = group % 4 == quad && m < q.p.m;
    const uint4* row = reinterpret_cast<const uint4*>(isOwn ? rows + (m * chunks + chunk) * kChunkBytes + (s * 4 + quad) * 64 : zeros);
    float even[4] = {}, odd[4] = {};
    const uint32_t codesOf[2][4] = {{words[0].x, words[0].y, words[0].z, words[0].w}, {words[1].x, words[1].y, words[1].z, words[1].w}};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      uint32_t upper[4], lower[4];
      Pairs::expand(codesOf[0][i], upper);
      Pairs::expand(codesOf[1][i], lower);
      const uint4 x = row[i];
      const uint32_t low[4] = {upper[0], lower[0], upper[2], lower[2]}, high[4] = {upper[1], lower[1], upper[3], lower[3]};
      mma16816(even, low, x.x, x.z, T());
      mma16816(odd, high, x.y, x.w, T());
    }
    // Columns 2 quad and 2 quad + 1: of row quad / 2 of a, pieces two apart.
    const int own = min(quad / 2, q.p.m - 1);
    const float2 sum = reinterpret_cast<const float2*>(sums + (own * chunks + chunk) * kPieces + s * 4)[quad % 2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const T* near = reinterpret_cast<const T*>(&scales.factors[i].x) + s;
      const T* far = reinterpret_cast<const T*>(&scales.factors[i].y) + s;
      const float low = (ZEROS ? scales.zeros[i] >> (4 * s) & 15 : 8) + Pairs::kOffset;
      const float high = (ZEROS ? scales.zeros[i] >> (4 * s + 8) & 15 : 8) + Pairs::kOffset;
      const float first = fmaf(odd[2 * i], Pairs::kOdd, even[2 * i]), second = fmaf(odd[2 * i + 1], Pairs::kOdd, even[2 * i + 1]);
      totals[i] = fmaf(toFloat(*near), fmaf(-low, sum.x, first), totals[i]);
      totals[i] = fmaf(toFloat(*far), fmaf(-high, sum.y, second), totals[i]);
    }
  }

  __device__ __forceinline__ void run() const {
    Box asked = first(), at = first();
    Scales scales = {};
    // Weights do not change: they are on their way while launches before still compute the rows.
    if (lane == 0) {
      prefetchMap(map);
      for (int stage = 0; stage < kStages; ++stage) initBarrier(full(stage), 1);
      fenceBarrierInit();
      for (int stage = 0; stage < kStages; ++stage) ask(asked);
    }
    load(scales, at);
    beginKernel();
    fill();
    __syncthreads();
    int round = 0;
#pragma unroll 1
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, ++round) {
      float totals[2] = {};
#pragma unroll 1
      for (int chunk = begin; chunk < end; ++chunk) {
        uint4 words[2][2];
        waitBarrier(full(at.stage), at.parity);
        take(words, at.stage);
        next(at);
        Scales own = scales;
        load(scales, at);
        // What all lanes have read makes room.
        __syncwarp();
        if (lane == 0) ask(asked);
#pragma unroll
        for (int s = 0; s < 2; ++s) multiply(totals, words[s], own, chunk, s);
      }
      finishTile(q, totals, tile, round, Pairs::kUnit);
    }
  }
};
