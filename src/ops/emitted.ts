/**
 * @file The ai.onnx operators that passes write as new nodes. Whatever is written is looked up here by the tests, and
 * each of these in ONNX's schemas, for every opset and type.
 */
export const emitted = {
  /** What a BatchNormalization behind a MatMul leaves. */
  Add: "Add",
  Cast: "Cast",
  Concat: "Concat",
  Constant: "Constant",
  Expand: "Expand",
  Gather: "Gather",
  /** In the place of what an exporter wrote as arithmetic. */
  Gelu: "Gelu",
  Identity: "Identity",
  Max: "Max",
  /** Positions from the start of an axis that was padded. */
  Mod: "Mod",
  /** A factor in the place of what another scale was folded into. */
  Mul: "Mul",
  Pad: "Pad",
  Shape: "Shape",
  Slice: "Slice",
  Transpose: "Transpose",
} as const;

export type Emitted = keyof typeof emitted;

export const emittedOperators: ReadonlySet<string> = new Set(Object.values(emitted));
