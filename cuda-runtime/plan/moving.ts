/** @file Operators that move elements and leave them as they are: their results are stored as their inputs are. */

const moving: ReadonlySet<string> = new Set([
  "CenterCropPad",
  "Compress",
  "Concat",
  "DepthToSpace",
  "Expand",
  "Flatten",
  "Gather",
  "GatherElements",
  "GatherND",
  "GlobalMaxPool",
  "Identity",
  "MaxPool",
  "MaxUnpool",
  "Pad",
  "ReduceMax",
  "ReduceMin",
  "Reshape",
  "ReverseSequence",
  "Scatter",
  "ScatterElements",
  "ScatterND",
  "Slice",
  "SpaceToDepth",
  "Split",
  "Squeeze",
  "TensorScatter",
  "Tile",
  "TopK",
  "Transpose",
  "Unsqueeze",
]);

export function handsOnType(operator: string): boolean {
  return moving.has(operator);
}
