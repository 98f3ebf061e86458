// softmax(scale Q·Kᵀ + mask)·V, streamed over keys: no matrix of scores in memory.
#include "plain.cuh"
#include "tensor.cuh"
