// Which tile of queries is which piece of work, and which keys it goes through.
#pragma once
#include "../attention/params.cuh"

// Keys and values of so many bytes are taken to stay in L2 while the tiles of their heads are computed.
constexpr int kHeadsInL2Bytes = 32 << 20;

// Tiles of one head follow each other, so that its keys are read from L2. Where later queries see more keys, late tiles come first: those of
// as many heads as L2 holds, then those of the next ones.
struct HopperPlace {
  int sample, head, kvHead, split, firstQuery;

  __device__ __forceinline__ HopperPlace(const AttentionParams& p, int tileQueries, int index) {
    const int tiles = (p.queries + tileQueries - 1) / tileQueries, lines = p.heads * p.batch;
    split = index % p.splits;
    index /= p.splits;
    int line, tile;
    if (p.right < p.keys && tiles > 1) {
      const int bytes = p.keys * (p.dim + p.valueDim) * 2;
      const int section = min(max(kHeadsInL2Bytes / bytes, 1), lines);
      const int first = index / (section * tiles) * section, width = min(section, lines - first);
      const int within = index - first * tiles;
      line = first + within % width;
      tile = tiles - 1 - within / width;
    } else {
      line = index / tiles;
      tile = index % tiles;
    }
    firstQuery = tile * tileQueries;
    head = line % p.heads;
    sample = line / p.heads;
    kvHead = head / p.group;
  }
};

// A tile of queries by BK keys a step. The BLOCKS blocks of a cluster have one tile each, one below the other, and go through the same
// keys: those that any of them sees.
template <int QUERIES, int BK, int BLOCKS> struct HopperWork {
  HopperPlace place;
  KeyLimits limits;
  int begin, steps;  // first key, and steps

  __device__ __forceinline__ HopperWork(const AttentionParams& p, const HopperPlace& together, int rank)
      : place(together), limits(p, together.sample) {
    const int lastTogether = min(together.firstQuery + BLOCKS * QUERIES, p.queries) - 1;
    const int from = limits.begin(together.firstQuery) / BK * BK, end = limits.end(lastTogether);
    place.firstQuery += rank * QUERIES;
    const int all = end > from ? (end - from + BK - 1) / BK : 0;
    const int ofSplit = (all + p.splits - 1) / p.splits, first = min(place.split * ofSplit, all);
    steps = min(ofSplit, all - first);
    begin = from + first * BK;
  }

  __device__ __forceinline__ int lastQuery(const AttentionParams& p) const { return min(place.firstQuery + QUERIES, p.queries) - 1; }

  // Whether all queries of the tile see all of the step's keys.
  __device__ __forceinline__ bool isInside(const AttentionParams& p, int firstKey) const {
    return firstKey + BK <= limits.innerEnd(place.firstQuery) && firstKey >= limits.innerBegin(lastQuery(p));
  }
};
