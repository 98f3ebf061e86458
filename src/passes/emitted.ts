/**
 * @file The ai.onnx operators that passes write as new nodes. Whatever is written is looked up here by the tests, and
 * each of these in ONNX's schemas, for every opset and type.
 */
export const emittedOperators: ReadonlySet<string> = new Set([
  /** What a BatchNormalization behind a MatMul leaves. */
  "Add",
  "Cast",
  "Concat",
  "Constant",
  "Expand",
  "Gather",
  "Identity",
  "Max",
  "Pad",
  "Shape",
  "Slice",
  "Transpose",
]);
