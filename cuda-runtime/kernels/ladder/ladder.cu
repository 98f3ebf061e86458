// The rungs that `tc-lint bench --ladder` measures: each the one before and one thing more. Slow ones are the lesson.
// hot: ladder_conv_tensor, ladder_winograd, ladder_attention_*, ladder_resample_*
// on demand
#include "../common/launch.cuh"
#include "attention.cuh"
#include "conv-last.cuh"
#include "conv.cuh"
#include "resample.cuh"
#include "winograd.cuh"
