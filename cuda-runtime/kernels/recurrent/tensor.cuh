// A recurrence on Tensor Cores. A block, or the blocks of a cluster, have four sequences of a direction for all steps. R stays where it is
// multiplied: a warp has the gates of eight hidden units, the first KEPT pairs of steps along k as fragments in registers, the others in shared
// memory. The state is multiplied as the sum of two halves, which lie in columns beside each other: of sixteen bits and more nothing is lost.
// What a lane gets is all gates of one unit of one sequence: its state never leaves the lane's registers, but for the product of the next step.
#pragma once
#include "../common/barrier.cuh"
#include "../common/cluster.cuh"
#include "../common/mma.cuh"
#include "../common/storage.cuh"
#include "gates.cuh"

template <typename T>
struct Halves;
template <>
struct Halves<__half> {
  // A state that was given may be larger than a half.
  static __device__ __forceinline__ __half nearest(float x) { return __float2half_rn(fminf(fmaxf(x, -65504.0f), 65504.0f)); }
  static __device__ __forceinline__ float back(__half x) { return __half2float(x); }
};
template <>
struct Halves<__nv_bfloat16> {
  static __device__ __forceinline__ __nv_bfloat16 nearest(float x) { return __float2bfloat16_rn(x); }
  static __device__ __forceinline__ float back(__nv_bfloat16 x) { return __bfloat162float(x); }
};

template <Cell CELL, typename T, int KEPT>
struct TensorRecurrence {
  using Traits = CellTraits<CELL>;
  static constexpr int kGates = Traits::kAll;
  static constexpr int kFunctions = CELL == kLstm ? 3 : CELL == kGru ? 2 : 1;
  // Tiles of sixteen rows: two gates of eight units each.
  static constexpr int kTiles = (kGates + 1) / 2;
  static constexpr int kSequences = 4;
  // Of a pair of steps along k: elements, and 16 bytes that a lane has of each step's tiles.
  static constexpr int kPair = 32;
  static constexpr int kPiecesOfPair = 2 * kTiles;

  const RecurrentParams& p;
  const int direction, first, blocks, rank, warps, warp, lane;
  // The lane's unit and sequence.
  const int unit, sequence;
  const int pairs, pitch;
  // Of two states, which take turns, when they are whole; bytes of one.
  const uint32_t arrived;
  const int stateBytes;
  T* const states;
  uint4* const others;

  __device__ __forceinline__ TensorRecurrence(const RecurrentParams& p, unsigned char* shared)
      : p(p),
        direction(blockIdx.y),
        first(blockIdx.z * kSequences),
        blocks(gridDim.x),
        rank(blockIdx.x),
        warps(blockDim.x / 32),
        warp(threadIdx.x / 32),
        lane(threadIdx.x & 31),
        unit((rank * warps + warp) * 8 + lane / 4),
        sequence(first + lane % 4),
        pairs((p.hidden + kPair - 1) / kPair),
        // Eight more keep a column's rows in banks of their own.
        pitch(pairs * kPair + 8),
        arrived(static_cast<uint32_t>(__cvta_generic_to_shared(shared))),
        stateBytes((p.hidden + 7) / 8 * 8 * 16),
        states(reinterpret_cast<T*>(shared + 16)),
        others(reinterpret_cast<uint4*>(shared + 16 + 2 * 8 * pitch * sizeof(T))) {}

  __device__ __forceinline__ void run() {
    uint4 kept[KEPT * kPiecesOfPair];
    // In words, where rows begin at them.
    if (p.hidden % 2 == 0 && (reinterpret_cast<uintptr_t>(p.r) & 3) == 0) takeR<true>(kept);
    else takeR<false>(kept);
    beginStates();
    if (blocks > 1) beginTeam();
    else __syncthreads();
    // Warps without a unit would only fall behind.
    if (unit - lane / 4 < p.hidden) {
      if (UsualGates::suits(p, direction, kFunctions)) advance(kept, UsualGates{});
      else advance(kept, NamedGates{p, direction});
    }
    // Nobody leaves while others store to it.
    if (blocks > 1) meet();
  }

 private:
  __device__ __forceinline__ bool isThere() const { return unit < p.hidden && sequence < p.batch; }
  __device__ __forceinline__ int64_t stateAt() const {
    return (static_cast<int64_t>(direction) * p.batch + sequence) * p.hidden + unit;
  }
  __device__ __forceinline__ uint4& otherPiece(int piece) const {
    return others[(warp * (pairs - KEPT) * kPiecesOfPair + piece - KEPT * kPiecesOfPair) * 32 + lane];
  }

  static __device__ __forceinline__ void meet() {
    arriveCluster();
    waitCluster();
  }

  __device__ __forceinline__ uint32_t barrierOf(int state) const { return arrived + state % 2 * 8; }
  // By one thread of the block, for each state that comes.
  __device__ __forceinline__ void expect(int state) const {
    if (threadIdx.x == 0 && state < p.steps) arriveExpecting(barrierOf(state), stateBytes);
  }

  __device__ __forceinline__ void beginTeam() const {
    if (threadIdx.x == 0) {
      initBarrier(barrierOf(0), 1);
      initBarrier(barrierOf(1), 1);
      fenceBarrierInit();
    }
    expect(1);
    expect(2);
    meet();
  }

  // Whoever has all of a state knows that all have read the one before it: they made it from that.
  __device__ __forceinline__ void waitState(int state) const {
    if (blocks == 1 || state == 0) return;
    waitBarrier(barrierOf(state), (state - 1) / 2 % 2);
    expect(state + 2);
  }

  // All loads of a part on their way together: without a branch, and with zeros behind it for what is not there.
  template <bool IN_WORDS>
  __device__ __forceinline__ void takeR(uint4 (&kept)[KEPT * kPiecesOfPair]) const {
#pragma unroll
    for (int piece = 0; piece < KEPT * kPiecesOfPair; ++piece) kept[piece] = pieceOfR<IN_WORDS>(piece);
#pragma unroll 4
    for (int piece = KEPT * kPiecesOfPair; piece < pairs * kPiecesOfPair; ++piece) otherPiece(piece) = pieceOfR<IN_WORDS>(piece);
  }

  // A lane's part of a tile at a step along k, as mma.m16n8k16 takes it.
  template <bool IN_WORDS>
  __device__ __forceinline__ uint4 pieceOfR(int piece) const {
    const int gate = piece % kTiles * 2;
    const int k = piece / kTiles * 16 + lane % 4 * 2;
    return make_uint4(wordOfR<IN_WORDS>(gate, k), wordOfR<IN_WORDS>(gate + 1, k), wordOfR<IN_WORDS>(gate, k + 8),
                      wordOfR<IN_WORDS>(gate + 1, k + 8));
  }

  template <bool IN_WORDS>
  __device__ __forceinline__ uint32_t wordOfR(int gate, int k) const {
    const int last = p.hidden - 1;
    const uint16_t* row = static_cast<const uint16_t*>(p.r) +
                          ((static_cast<int64_t>(direction) * kGates + min(gate, kGates - 1)) * p.hidden + min(unit, last)) * p.hidden;
    const bool isHere = gate < kGates && unit <= last && k <= last;
    if constexpr (IN_WORDS) {
      const uint32_t word = *reinterpret_cast<const uint32_t*>(row + min(k, last - 1));
      return isHere ? word : 0;
    } else {
      const uint32_t low = row[min(k, last)], high = row[min(k + 1, last)];
      return isHere ? low | (k < last ? high << 16 : 0) : 0;
    }
  }

  static __device__ __forceinline__ uint32_t wordOf(float x) {
    const T high = Halves<T>::nearest(x);
    const T low = Halves<T>::nearest(x - Halves<T>::back(high));
    return reinterpret_cast<const uint16_t&>(high) | static_cast<uint32_t>(reinterpret_cast<const uint16_t&>(low)) << 16;
  }

  // Two states take turns; rows of one are a sequence's high and low halves. Zeros where there is no unit, no sequence.
  __device__ __forceinline__ void beginStates() const {
    uint16_t* to = reinterpret_cast<uint16_t*>(states);
    for (int i = threadIdx.x; i < kSequences * pitch; i += blockDim.x) {
      const int of = i / pitch, k = i % pitch;
      const bool isHere = k < p.hidden && first + of < p.batch;
      const uint32_t word = isHere ? wordOf(p.hIn[(static_cast<int64_t>(direction) * p.batch + first + of) * p.hidden + k]) : 0;
      to[2 * of * pitch + k] = word & 0xffff;
      to[(2 * of + 1) * pitch + k] = word >> 16;
      to[(8 + 2 * of) * pitch + k] = 0;
      to[(9 + 2 * of) * pitch + k] = 0;
    }
  }

  template <typename Gates>
  __device__ __forceinline__ void advance(const uint4 (&kept)[KEPT * kPiecesOfPair], const Gates& gates) const {
    const int length = isThere() ? lengthOf(p, sequence) : 0;
    float h = isThere() ? p.hIn[stateAt()] : 0.0f;
    float cell = CELL == kLstm && isThere() ? p.c[stateAt()] : 0.0f;
    float bias[kGates];
#pragma unroll
    for (int g = 0; g < kGates; ++g) {
      bias[g] = isThere() && p.rBias != nullptr ? p.rBias[(static_cast<int64_t>(direction) * kGates + g) * p.hidden + unit] : 0.0f;
    }
    float in[kGates];
    loadInput(in, length, 0);
#pragma unroll 1
    for (int step = 0; step < p.steps; ++step) {
      waitState(step);
      float product[kGates], given[kGates];
      multiply(product, kept, states + step % 2 * 8 * pitch, [&] {
        // Nobody waits for it.
        if (step > 0) store(h, length, step - 1);
      });
#pragma unroll
      for (int g = 0; g < kGates; ++g) product[g] += bias[g], given[g] = in[g];
      // On its way until the next products are there.
      loadInput(in, length, step + 1);
      if (step < length) h = unitOf(gates, given, product, h, cell);
      if (step + 1 < p.steps) share(wordOf(h), step + 1);
      if (blocks == 1) __syncthreads();
    }
    store(h, length, p.steps - 1);
    if (!isThere()) return;
    p.hOut[stateAt()] = h;
    if (CELL == kLstm) p.c[stateAt()] = cell;
  }

  __device__ __forceinline__ void loadInput(float (&in)[kGates], int length, int step) const {
    if (!isThere() || step >= p.steps) {
#pragma unroll
      for (int g = 0; g < kGates; ++g) in[g] = 0.0f;
      return;
    }
    const float* x = p.x + static_cast<int64_t>(direction) * p.xStrides[0] +
                     static_cast<int64_t>(momentOf(p, direction, length, step).time) * p.xStrides[1] +
                     static_cast<int64_t>(sequence) * p.xStrides[2] + unit;
#pragma unroll
    for (int g = 0; g < kGates; ++g) in[g] = __ldg(x + g * p.hidden);
  }

  // `meanwhile` runs in the time of the products.
  template <typename Meanwhile>
  __device__ __forceinline__ void multiply(float (&product)[kGates], const uint4 (&kept)[KEPT * kPiecesOfPair], const T* state,
                                           Meanwhile meanwhile) const {
    // Even and odd steps: products of one wait for each other.
    float sums[2][kTiles][4] = {};
    // Of four matrices of eight columns, which lie along k, this lane gives a row's address.
    uint32_t from = static_cast<uint32_t>(__cvta_generic_to_shared(state + lane % 8 * pitch + lane / 8 * 8));
#pragma unroll
    for (int pair = 0; pair < KEPT; ++pair) {
      // Of the pieces behind the last pair all are zero, of the state there are none.
      if (pair < pairs) addPair(sums, from + pair * kPair * sizeof(T), [&](int piece) { return kept[pair * kPiecesOfPair + piece]; });
    }
#pragma unroll 2
    for (int pair = KEPT; pair < pairs; ++pair) {
      addPair(sums, from + pair * kPair * sizeof(T), [&](int piece) { return otherPiece(pair * kPiecesOfPair + piece); });
    }
    meanwhile();
#pragma unroll
    for (int g = 0; g < kGates; ++g) {
      const int at = g % 2 * 2;
      product[g] = sums[0][g / 2][at] + sums[1][g / 2][at] + (sums[0][g / 2][at + 1] + sums[1][g / 2][at + 1]);
    }
  }

  template <typename Piece>
  static __device__ __forceinline__ void addPair(float (&sums)[2][kTiles][4], uint32_t from, Piece pieceAt) {
    uint32_t b[4];
    ldmatrix4(b, from);
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        const uint4 piece = pieceAt(step * kTiles + tile);
        const uint32_t a[4] = {piece.x, piece.y, piece.z, piece.w};
        mma16816(sums[step][tile], a, b[2 * step], b[2 * step + 1], T{});
      }
    }
  }

  template <typename Gates>
  __device__ __forceinline__ float unitOf(const Gates& gates, const float (&in)[kGates], const float (&product)[kGates], float before,
                                          float& cell) const {
    if constexpr (CELL == kLstm) {
      float total[kGates];
#pragma unroll
      for (int g = 0; g < kGates; ++g) total[g] = in[g] + product[g];
      return lstmUnit(gates, unit, total, cell);
    } else if constexpr (CELL == kRnn) {
      // The only function of an RNN is the tangent that others have behind a sigmoid.
      return gates.of(in[0] + product[0], Gates::kTangent);
    } else {
      return gruUnit(gates, in, product, before);
    }
  }

  // A warp's eight units to all blocks: lanes of eight have a column each, 16 bytes, and of a block in turn.
  __device__ __forceinline__ void share(uint32_t word, int state) const {
    const int column = lane % 8;
    uint32_t words[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const uint32_t low = __shfl_sync(0xffffffffu, word, 8 * j + column / 2);
      const uint32_t high = __shfl_sync(0xffffffffu, word, 8 * j + 4 + column / 2);
      words[j] = __byte_perm(low, high, column % 2 == 0 ? 0x5410 : 0x7632);
    }
    T* to = states + (state % 2 * 8 + column) * pitch + (rank * warps + warp) * 8;
    if (blocks == 1) {
      if (lane < 8) *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
    } else {
      // Blocks without a unit expect nothing.
      for (int block = lane / 8; block < blocks && block * warps * 8 < p.hidden; block += 4) storeToBlock(to, barrierOf(state), block, words);
    }
  }

  __device__ __forceinline__ void store(float h, int length, int step) const {
    if (p.y == nullptr || !isThere()) return;
    const Moment moment = momentOf(p, direction, length, step);
    const int64_t y = static_cast<int64_t>(direction) * p.yStrides[0] + static_cast<int64_t>(moment.time) * p.yStrides[1] +
                      static_cast<int64_t>(sequence) * p.yStrides[2] + unit;
    storeFloat(p.y, y, p.yType, moment.isActive ? h : 0.0f);
  }
};
