// What is done to results of products of codes on their way out, behind scale and bias: codes that the graph rounds to between are
// dequantized, or an activation is taken; a residual is added, another activation taken, and the sum is quantized, all in registers
// and rounded as launches of their own would. A warp reads staged results by rows, as it stores them.
#pragma once
#include <type_traits>
#include "../common/activation.cuh"
#include "../common/codes.cuh"
#include "../common/load-ahead.cuh"
#include "../common/storage.cuh"
#include "params.generated.cuh"

enum TailKind : int { kNoTail = 0, kTailOfCodes = 1, kTailOfFloats = 2 };

// Codes of four bytes, flipped: what one of them is above its zero point.
__device__ __forceinline__ float differenceOf(uint32_t flipped, int byte, float base) {
  // 2^23 and a byte as its last digits.
  return __fadd_rn(__uint_as_float(__byte_perm(flipped, 0x4b000000u, 0x7540 + byte)), -base);
}
// As a real number.
__device__ __forceinline__ float realOf(uint32_t flipped, int byte, const CodeReals& of) {
  return __fmul_rn(differenceOf(flipped, byte, of.base), of.scale);
}

// The activations that the planner leaves to a tail. `kind` is the same for the whole launch.
__device__ __forceinline__ void activateAll(float (&v)[4], const Activation& f) {
  if (f.kind == kNone) return;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float x = v[i];
    if (f.kind == kRelu) v[i] = x < 0.0f ? 0.0f : x;
    else if (f.kind == kClip) v[i] = clipOf(x, f.a, f.b);
    else if (f.kind == kGelu) v[i] = geluOf(x);
    else v[i] = x * sigmoidOf(f.kind == kSilu ? f.a * x : geluTanhSlope(x));
  }
}

__device__ __forceinline__ int bytesOf(int type) {
  if (type == kInt8 || type == kUint8) return 1;
  return type == kFloat32 ? 4 : 2;
}
// From address 0 on.
__device__ __forceinline__ int elementsTo(const void* address, int type) {
  const int bytes = bytesOf(type);
  return static_cast<int>(reinterpret_cast<uintptr_t>(address) >> (bytes == 4 ? 2 : bytes - 1));
}
__device__ __forceinline__ bool isCodes(int type) { return type == kInt8 || type == kUint8; }

// COUNT of a row's neighbours, 1 or 4, which lie where vectors of them do.
template <int COUNT>
struct Neighbours {
  template <typename T>
  static __device__ __forceinline__ T vector(const void* base, int64_t at) {
    return __ldg(reinterpret_cast<const T*>(static_cast<const unsigned char*>(base) + at));
  }
  static __device__ __forceinline__ uint32_t codes(const void* base, int64_t at) {
    if constexpr (COUNT == 4) return vector<uint32_t>(base, at);
    else return vector<uint8_t>(base, at);
  }

  // `at`: an element. Floats of one of three types.
  static __device__ __forceinline__ void floats(float (&v)[4], const void* base, int64_t at, int type) {
    if constexpr (COUNT == 1) v[0] = loadFloat(base, at, type);
    else if (type == kFloat32) {
      const float4 all = vector<float4>(base, at * 4);
      v[0] = all.x, v[1] = all.y, v[2] = all.z, v[3] = all.w;
    } else {
      const uint2 all = vector<uint2>(base, at * 2);
      const uint32_t pairs[2] = {all.x, all.y};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const unsigned short bits = static_cast<unsigned short>(pairs[i / 2] >> (i % 2 * 16));
        v[i] = type == kFloat16 ? __half2float(__ushort_as_half(bits)) : __bfloat162float(__ushort_as_bfloat16(bits));
      }
    }
  }

  static __device__ __forceinline__ void store(const float (&v)[4], void* base, int64_t at, int type) {
    if constexpr (COUNT == 1) storeFloat(base, at, type, v[0]);
    else if (type == kFloat32) static_cast<float4*>(base)[at / 4] = make_float4(v[0], v[1], v[2], v[3]);
    else {
      uint32_t pairs[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const __half2 halves = __floats2half2_rn(v[2 * i], v[2 * i + 1]);
        const __nv_bfloat162 brains = __floats2bfloat162_rn(v[2 * i], v[2 * i + 1]);
        pairs[i] = type == kFloat16 ? reinterpret_cast<const uint32_t&>(halves) : reinterpret_cast<const uint32_t&>(brains);
      }
      static_cast<uint2*>(base)[at / 4] = make_uint2(pairs[0], pairs[1]);
    }
  }
};

// What a lane adds to 16 rows by 128 codes, or fewer of them: whole vectors, fetched before they are wanted.
template <int VECTORS>
struct AddedVectors {
  uint4 words[VECTORS];
};

// Of what is staged: bytes of codes, or floats.
template <typename Staged>
struct TailRows {
  static constexpr bool kOfCodes = std::is_same_v<Staged, uint8_t>;

  const CodeProductParams& p;
  unsigned char* to;
  const unsigned char* added;
  int vector;

  // `vector`: what vectorOf says.
  __device__ __forceinline__ TailRows(const CodeProductParams& p, int batch, int vector) : p(p), vector(vector) {
    to = static_cast<unsigned char*>(p.d) + batch * p.dBatch * bytesOf(p.dType);
    added = static_cast<const unsigned char*>(p.tail.residual);
    if (added != nullptr) added += batch * p.tail.rBatch * bytesOf(p.tail.rType);
  }

  // Elements of a row that a lane takes at once, of all of a batch: they are counted once, outside of loops.
  static __device__ __forceinline__ int vectorOf(const CodeProductParams& p) {
    const CodeTail& t = p.tail;
    int ends = p.n | p.dM | elementsTo(p.d, p.dType);
    if (p.batch > 1) ends |= static_cast<int>(p.dBatch);
    if (t.residual != nullptr) {
      ends |= t.rM | elementsTo(t.residual, t.rType);
      if (p.batch > 1) ends |= static_cast<int>(t.rBatch);
    }
    const bool isOfCodes = kOfCodes && isCodes(p.dType) && (t.residual == nullptr || isCodes(t.rType));
    return (ends & 3) != 0 ? 1 : (ends & 15) != 0 || !isOfCodes ? 4 : 16;
  }

  // Of 16 rows from `row` on, COLUMNS of each from n on, by vectors of 16.
  template <int COLUMNS>
  __device__ __forceinline__ void fetch(AddedVectors<COLUMNS / 32>& ahead, int row, int n) const {
    if (added == nullptr || vector != 16) return;
#pragma unroll
    for (int round = 0; round < COLUMNS / 32; ++round) {
      const Place at = placeOf<16, COLUMNS>(round, row, n);
      ahead.words[round] = loadAhead16(added + (at.row * static_cast<int64_t>(p.tail.rM) + at.n), isInside(at));
    }
  }

  // Whether `ahead` holds all that is added, and sums of codes are known to come to two multiplications.
  __device__ __forceinline__ bool hasSums() const { return kOfCodes && vector == 16 && p.tail.sum.isKnown; }

  // What was fetched to where results of these rows are staged.
  template <int COLUMNS, int PITCH>
  __device__ __forceinline__ void stage(unsigned char* own, const AddedVectors<COLUMNS / 32>& ahead) const {
    const uint32_t flip = p.tail.added.flip;
#pragma unroll
    for (int round = 0; round < COLUMNS / 32; ++round) {
      const Place at = placeOf<16, COLUMNS>(round, 0, 0);
      const uint4& words = ahead.words[round];
      *reinterpret_cast<uint4*>(own + at.below * PITCH + at.beside) =
          make_uint4(words.x ^ flip, words.y ^ flip, words.z ^ flip, words.w ^ flip);
    }
  }

  // Staged codes as they are.
  template <int COLUMNS, int PITCH>
  __device__ __forceinline__ void storeStaged(const unsigned char* own, int row, int n) const {
#pragma unroll
    for (int round = 0; round < COLUMNS / 32; ++round) {
      const Place at = placeOf<16, COLUMNS>(round, row, n);
      if (!isInside(at)) continue;
      *reinterpret_cast<uint4*>(to + at.row * static_cast<int64_t>(p.dM) + at.n) =
          *reinterpret_cast<const uint4*>(own + at.below * PITCH + at.beside);
    }
  }

  // The same rows, staged PITCH bytes apart, to where they are stored.
  template <int COLUMNS, int PITCH>
  __device__ __forceinline__ void store(const unsigned char* own, int row, int n, const AddedVectors<COLUMNS / 32>& ahead) const {
    if constexpr (kOfCodes) {
      if (vector == 16) return storeWhole<COLUMNS, PITCH>(own, row, n, ahead);
    }
    if (vector == 1) storeBy<1, COLUMNS, PITCH>(own, row, n);
    else storeBy<4, COLUMNS, PITCH>(own, row, n);
  }

 private:
  struct Place {
    int below, beside, row, n;
  };

  template <int COUNT, int COLUMNS>
  __device__ __forceinline__ Place placeOf(int round, int row, int n) const {
    const int index = round * 32 + (threadIdx.x & 31);
    const int below = index / (COLUMNS / COUNT), beside = index % (COLUMNS / COUNT) * COUNT;
    return {below, beside, row + below, n + beside};
  }
  __device__ __forceinline__ bool isInside(const Place& at) const { return at.row < p.m && at.n < p.n; }

  template <int COLUMNS, int PITCH>
  __device__ __forceinline__ void storeWhole(const unsigned char* own, int row, int n,
                                             const AddedVectors<COLUMNS / 32>& ahead) const {
    const CodeTail& t = p.tail;
#pragma unroll
    for (int round = 0; round < COLUMNS / 32; ++round) {
      const Place at = placeOf<16, COLUMNS>(round, row, n);
      if (!isInside(at)) continue;
      const uint4 staged = *reinterpret_cast<const uint4*>(own + at.below * PITCH + at.beside);
      const uint4& other = ahead.words[round];
      *reinterpret_cast<uint4*>(to + at.row * static_cast<int64_t>(p.dM) + at.n) =
          make_uint4(wordOf(staged.x, other.x, t), wordOf(staged.y, other.y, t), wordOf(staged.z, other.z, t),
                     wordOf(staged.w, other.w, t));
    }
  }

  __device__ __forceinline__ uint32_t wordOf(uint32_t staged, uint32_t other, const CodeTail& t) const {
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = realOf(staged ^ t.between.flip, i, t.between);
    if (added != nullptr) {
#pragma unroll
      for (int i = 0; i < 4; ++i) v[i] = __fadd_rn(v[i], realOf(other ^ t.added.flip, i, t.added));
    }
    return codesOf(v, t);
  }

  template <int COUNT, int COLUMNS, int PITCH>
  __device__ __forceinline__ void storeBy(const unsigned char* own, int row, int n) const {
#pragma unroll 1
    for (int round = 0; round < COLUMNS / COUNT / 2; ++round) {
      const Place at = placeOf<COUNT, COLUMNS>(round, row, n);
      if (isInside(at)) storeOne<COUNT>(own + at.below * PITCH + at.beside * static_cast<int>(sizeof(Staged)), at);
    }
  }

  template <int COUNT>
  __device__ __forceinline__ void storeOne(const unsigned char* staged, const Place& at) const {
    using Of = Neighbours<COUNT>;
    const CodeTail& t = p.tail;
    float other[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (added != nullptr) {
      const int64_t from = at.row * static_cast<int64_t>(t.rM) + at.n;
      if (isCodes(t.rType)) {
        const uint32_t codes = Of::codes(added, from) ^ t.added.flip;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) other[i] = realOf(codes, i, t.added);
      } else {
        Of::floats(other, added, from, t.rType);
      }
    }
    float v[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if constexpr (kOfCodes) {
      uint32_t codes;
      if constexpr (COUNT == 4) codes = *reinterpret_cast<const uint32_t*>(staged);
      else codes = *staged;
#pragma unroll
      for (int i = 0; i < COUNT; ++i) v[i] = realOf(codes ^ t.between.flip, i, t.between);
    } else {
#pragma unroll
      for (int i = 0; i < COUNT; ++i) v[i] = reinterpret_cast<const float*>(staged)[i];
      activateAll(v, t.activation);
    }
    if (added != nullptr) {
#pragma unroll
      for (int i = 0; i < COUNT; ++i) v[i] = __fadd_rn(v[i], other[i]);
    }
    const int64_t index = at.row * static_cast<int64_t>(p.dM) + at.n;
    if (!isCodes(p.dType)) {
#pragma unroll
      for (int i = 0; i < COUNT; ++i) v[i] = v[i] < t.least ? t.least : v[i];
      return Of::store(v, to, index, p.dType);
    }
    const uint32_t codes = codesOf(v, t);
    if constexpr (COUNT == 4) *reinterpret_cast<uint32_t*>(to + index) = codes;
    else to[index] = static_cast<unsigned char>(codes);
  }
};
