/** @file What ONNX lets operators be given: how many inputs, of which types. For those who must not guess. */
import { type DType, dtypes } from "../ir/dtype.ts";
import { counted } from "../ir/format.ts";
import { own } from "../ir/own.ts";

export type Kind = "float" | "number" | "whole" | "bool" | "any";

export interface Signature {
  /** Fewest and most inputs. */
  readonly inputs: readonly [number, number];
  readonly kind: Kind;
  /** Inputs of the kind, which have one type together; all unless given. */
  readonly alike?: readonly number[];
  /** Whether these may differ in type: base and exponent. */
  readonly mayDiffer?: true;
  /** Inputs that are bool: conditions. */
  readonly conditions?: readonly number[];
}

const many = Number.POSITIVE_INFINITY;

function rows(names: string, signature: Signature): [string, Signature][] {
  return names.split(" ").map((name) => [name, signature]);
}

const microsoft = "com.microsoft";

/** By operator; one of com.microsoft behind its domain. */
const signatures: Readonly<Record<string, Signature>> = Object.fromEntries([
  ...rows(
    "Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish IsInf IsNaN LeakyRelu Log Mish Reciprocal Round Selu Sigmoid Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu",
    { inputs: [1, 1], kind: "float" },
  ),
  ...rows("Softmax LogSoftmax Hardmax LpNormalization MeanVarianceNormalization LRN", {
    inputs: [1, 1],
    kind: "float",
  }),
  ...rows("Abs Neg Sign Relu Shrink", { inputs: [1, 1], kind: "number" }),
  ...rows("Not", { inputs: [1, 1], kind: "bool" }),
  ...rows("BitwiseNot", { inputs: [1, 1], kind: "whole" }),
  ...rows("And Or Xor", { inputs: [2, 2], kind: "bool" }),
  ...rows("BitwiseAnd BitwiseOr BitwiseXor BitShift", { inputs: [2, 2], kind: "whole" }),
  ...rows("Add Sub Mul Div Mod PRelu Greater GreaterOrEqual Less LessOrEqual", {
    inputs: [2, 2],
    kind: "number",
  }),
  ...rows("Equal", { inputs: [2, 2], kind: "any" }),
  ...rows("Pow", { inputs: [2, 2], kind: "number", mayDiffer: true }),
  ...rows("Max Min", { inputs: [1, many], kind: "number" }),
  ...rows("Sum Mean", { inputs: [1, many], kind: "float" }),
  ...rows("SwiGLU", { inputs: [2, 2], kind: "float" }),
  ...rows("RotaryEmbedding", { inputs: [3, 4], kind: "float", alike: [0, 1, 2] }),
  ...rows("GridSample AffineGrid", { inputs: [2, 2], kind: "float", alike: [0] }),
  ...rows("LayerNormalization", { inputs: [2, 3], kind: "float", mayDiffer: true }),
  ...rows("RMSNormalization", { inputs: [2, 2], kind: "float", mayDiffer: true }),
  ...rows("InstanceNormalization GroupNormalization", { inputs: [3, 3], kind: "float", mayDiffer: true }),
  ...rows("BatchNormalization", { inputs: [5, 5], kind: "float", mayDiffer: true }),
  ...rows("Conv ConvTranspose", { inputs: [2, 3], kind: "float" }),
  ...rows("DeformConv", { inputs: [3, 5], kind: "float" }),
  ...rows("Tile", { inputs: [2, 3], kind: "any", alike: [0] }),
  ...rows("Expand Gather GatherElements GatherND Compress CumSum ReverseSequence", {
    inputs: [2, 2],
    kind: "any",
    alike: [0],
  }),
  ...rows("ScatterElements ScatterND Scatter", { inputs: [3, 3], kind: "any", alike: [0, 2] }),
  ...rows("Transpose Shape Size Identity NonZero Flatten DepthToSpace SpaceToDepth", {
    inputs: [1, 1],
    kind: "any",
  }),
  ...rows("Squeeze Unsqueeze Split Reshape Trilu TopK Upsample", { inputs: [1, 2], kind: "any", alike: [0] }),
  ...rows("Slice", { inputs: [1, 5], kind: "any", alike: [0] }),
  ...rows("Pad Resize", { inputs: [1, 4], kind: "any", alike: [0] }),
  ...rows("Concat", { inputs: [1, many], kind: "any" }),
  ...rows("MatMul", { inputs: [2, 2], kind: "number" }),
  ...rows("Gemm", { inputs: [2, 3], kind: "number" }),
  ...rows("Einsum", { inputs: [1, many], kind: "number" }),
  ...rows("Range", { inputs: [3, 3], kind: "number" }),
  ...rows("OneHot Col2Im", { inputs: [3, 3], kind: "any", alike: [0] }),
  ...rows("MaxPool AveragePool LpPool GlobalMaxPool GlobalAveragePool GlobalLpPool ArgMax ArgMin", {
    inputs: [1, 1],
    kind: "number",
  }),
  ...rows("MaxUnpool", { inputs: [2, 3], kind: "float", alike: [0] }),
  ...rows("LSTM GRU RNN", { inputs: [3, 8], kind: "float", alike: [0, 1, 2] }),
  ...rows("Clip", { inputs: [1, 3], kind: "number" }),
  ...rows(`${microsoft}::Gelu ${microsoft}::QuickGelu`, { inputs: [1, 1], kind: "float" }),
  ...rows(`${microsoft}::FastGelu`, { inputs: [1, 2], kind: "float" }),
  ...rows(`${microsoft}::BiasGelu ${microsoft}::BiasSplitGelu`, { inputs: [2, 2], kind: "float" }),
  ...rows(`${microsoft}::BiasAdd`, { inputs: [3, 3], kind: "float" }),
  ...rows(`${microsoft}::BiasDropout`, { inputs: [2, 5], kind: "float", alike: [0, 1, 2] }),
  ...rows("Where", { inputs: [3, 3], kind: "any", alike: [1, 2], conditions: [0] }),
]);

const kindNames: Readonly<Record<Kind, string>> = {
  float: "a float type",
  number: "a number",
  whole: "a whole number",
  bool: "bool",
  any: "a tensor",
};

/** Of an operator of ai.onnx ("") or com.microsoft; undefined for those that are not listed. */
export function signatureOf(domain: string, type: string): Signature | undefined {
  return own(signatures, domain === "" ? type : `${domain}::${type}`);
}

/** What is wrong with inputs of these types (undefined: omitted, or not known), in words; undefined where they fit. */
export function mismatchOf(signature: Signature, types: readonly (DType | undefined)[]): string | undefined {
  const [fewest, most] = signature.inputs;
  if (types.length < fewest || types.length > most) {
    const expected = most === many ? `at least ${fewest}` : fewest === most ? fewest : `${fewest} to ${most}`;
    return `has ${counted(types.length, "input")}, expected ${expected}`;
  }
  for (const at of signature.conditions ?? []) {
    const dtype = types[at];
    if (dtype !== undefined && dtype !== "bool") return `input ${at} is ${dtype}, expected bool`;
  }
  let first: { readonly at: number; readonly dtype: DType } | undefined;
  for (const [at, dtype] of types.entries()) {
    if (dtype === undefined || signature.alike?.includes(at) === false) continue;
    if (!isOfKind(dtype, signature.kind))
      return `input ${at} is ${dtype}, expected ${kindNames[signature.kind]}`;
    first ??= { at, dtype };
    if (dtype !== first.dtype && signature.mayDiffer !== true)
      return `input ${at} is ${dtype}, expected ${first.dtype} as input ${first.at} is`;
  }
  return undefined;
}

function isOfKind(dtype: DType, expected: Kind): boolean {
  const { kind } = dtypes[dtype];
  switch (expected) {
    case "float":
      return kind === "float";
    case "number":
      return kind === "float" || kind === "int" || kind === "uint";
    case "whole":
      return kind === "int" || kind === "uint";
    case "bool":
      return kind === "bool";
    case "any":
      return true;
  }
}
