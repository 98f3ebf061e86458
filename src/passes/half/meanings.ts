/**
 * @file From which opset on an operator has meant the same as in opset 22: a node of it may be relabelled, and nothing else.
 * Newer versions that only take more types, or a new attribute whose default is the old meaning, change nothing. An
 * operator that is not here is not known to be safe.
 *
 * Source: ONNX's operator changelog, opsets 7 to 22.
 */
import type { Node } from "../../ir/model.ts";
import { own } from "../../ir/own.ts";

/** The first opset in which every operator that it is about takes bfloat16. */
export const newestMeaning = 22;

const sameSince: readonly (readonly [opset: number, ops: string])[] = [
  [
    7,
    `Abs Acos Add And ArgMax ArgMin Asin Atan Ceil Concat Constant Conv Cos DepthToSpace Div Elu Equal Exp Flatten Floor
     GRU Gather Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater HardSigmoid Identity If InstanceNormalization
     LRN LSTM LeakyRelu Less Log LpNormalization MatMul Mul Neg Not Or PRelu Pow RNN Reciprocal Relu Reshape Selu Shape
     Sigmoid Sin Size Softplus Softsign SpaceToDepth Sqrt Sub Tan Tanh Tile Transpose Xor`,
  ],
  [8, "Expand Max Mean Min Sum"],
  [
    9,
    `Acosh Asinh Atanh Cast ConstantOfShape Cosh Erf EyeLike IsNaN MeanVarianceNormalization NonZero Scan Shrink Sign
     Sinh Where`,
  ],
  [10, "ConvInteger IsInf MatMulInteger Mod QLinearConv QLinearMatMul ReverseSequence Slice ThresholdedRelu"],
  [
    11,
    `BitShift Clip Compress ConvTranspose CumSum Det DynamicQuantizeLinear GatherElements GatherND Loop NonMaxSuppression
     OneHot Pad Range Round ScatterElements ScatterND TopK Unique`,
  ],
  [12, "Celu Dropout Einsum GreaterOrEqual LessOrEqual"],
  [13, "DequantizeLinear Hardmax LogSoftmax QuantizeLinear ReduceSum Resize Softmax Squeeze Unsqueeze"],
  [14, "HardSwish Trilu"],
  [15, "BatchNormalization CastLike"],
  [16, "RoiAlign"],
  [17, "BlackmanWindow HammingWindow HannWindow LayerNormalization MelWeightMatrix STFT"],
  [18, "BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CenterCropPad Col2Im LpPool Mish Split"],
  [
    18,
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare",
  ],
  [19, "DeformConv"],
  [20, "AffineGrid DFT Gelu GridSample"],
  [21, "GroupNormalization"],
  [22, "AveragePool MaxPool"],
];

/** Where a node does not use what has changed: an older opset will do. */
interface Exception {
  readonly since: number;
  readonly applies: (node: Node) => boolean;
}

const withoutAxes: Exception = { since: 7, applies: (node) => !has(node, "axes") };
const wholeWindows: Exception = { since: 8, applies: (node) => !isSet(node, "ceil_mode") };
// What is said of windows that begin in padding is newer; an average is also divided otherwise.
const windowsFromInside: Exception = {
  since: 8,
  applies: (node) => !isSet(node, "ceil_mode") || !beginInPadding(node),
};

const exceptions: Readonly<Partial<Record<string, Exception>>> = {
  AveragePool: wholeWindows,
  MaxPool: windowsFromInside,
  // Before 14 more outputs meant training, and then a mode does.
  BatchNormalization: {
    since: 9,
    applies: (node) =>
      node.outputs.filter((each) => each !== undefined).length === 1 && !isSet(node, "training_mode"),
  },
  // The names of its modes are others since 20.
  GridSample: { since: 16, applies: (node) => !has(node, "mode") },
  // Since 18 a node without sizes says how many parts there are.
  Split: { since: 13, applies: ({ inputs }) => inputs[1] !== undefined },
  ReduceL1: withoutAxes,
  ReduceL2: withoutAxes,
  ReduceLogSum: withoutAxes,
  ReduceLogSumExp: withoutAxes,
  ReduceMax: withoutAxes,
  ReduceMean: withoutAxes,
  ReduceMin: withoutAxes,
  ReduceProd: withoutAxes,
  ReduceSumSquare: withoutAxes,
};

const table = new Map<string, number>();
for (const [opset, ops] of sameSince) {
  for (const op of ops.split(/\s+/)) table.set(op, opset);
}

/** Whether a node of ai.onnx at `opset` means in opset 22 what it means now. */
export function keepsMeaning(node: Node, opset: number): boolean {
  const since = table.get(node.opType);
  if (since !== undefined && opset >= since) return true;
  const exception = own(exceptions, node.opType);
  return exception !== undefined && opset >= exception.since && exception.applies(node);
}

function has(node: Node, attribute: string): boolean {
  return node.attributes.some(({ name }) => name === attribute);
}

function isSet(node: Node, attribute: string): boolean {
  const value = node.attributes.find(({ name }) => name === attribute)?.value;
  return value !== undefined && !(value.type === "int" && value.value === 0);
}

/** Whether the last window of a pool, its size rounded up, may begin behind the image. */
function beginInPadding(node: Node): boolean {
  const kernel = intsOf(node, "kernel_shape");
  const pads = intsOf(node, "pads");
  const isPadded = pads.some((pad) => pad !== 0) || has(node, "auto_pad");
  return intsOf(node, "strides").some(
    (stride, axis) => stride > 1 && (isPadded || stride > (kernel[axis] ?? 0)),
  );
}

function intsOf(node: Node, attribute: string): readonly number[] {
  const value = node.attributes.find(({ name }) => name === attribute)?.value;
  return value?.type === "ints" ? value.values : [];
}
