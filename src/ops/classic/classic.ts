/** @file ai.onnx.ml: encoders, scalers, linear models, trees. */
import { type Dim, product, unknownDim } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { own } from "../../ir/own.ts";
import { defineOp, type Fact, type OpContext, type OpDefinition } from "../op.ts";
import { asTensor, tensor, tensorAt, unknownTensor } from "../shape.ts";
import { computed } from "../traits.ts";

function mlOp(type: string, infer: (context: OpContext) => readonly (Fact | undefined)[]): OpDefinition {
  return defineOp({ domain: "ai.onnx.ml", type, traits: computed, infer });
}

function rowsOf(context: OpContext): Dim {
  const { shape } = tensorAt(context, 0);
  // A vector is one row of features.
  return shape === undefined ? unknownDim() : shape.length < 2 ? 1 : (shape[0] ?? unknownDim());
}

/** Lane by lane; `dtype` where it is not the input's. */
function perElement(type: string, dtype?: DType): OpDefinition {
  return mlOp(type, (context) => {
    const input = tensorAt(context, 0);
    return [tensor(dtype ?? input.dtype, input.shape)];
  });
}

/** x [N, F] to the best label [N] and scores [N, classes]. */
function classifier(type: string): OpDefinition {
  return mlOp(type, (context) => {
    const texts = context.strings("classlabels_strings");
    const numbers = context.ints("classlabels_int64s") ?? context.ints("classlabels_ints");
    const labels = texts !== undefined && texts.length > 0 ? texts : numbers;
    const rows = rowsOf(context);
    // A single label stands for "it, or not it": runtimes differ in how many scores they give.
    const classes = labels === undefined || labels.length < 2 ? unknownDim() : labels.length;
    return [
      tensor(labels === texts && texts !== undefined ? "string" : "int64", [rows]),
      tensor("float32", [rows, classes]),
    ];
  });
}

/** x [N, F] to [N, targets]. */
function regressor(type: string, targets: (context: OpContext) => number, dtype?: DType): OpDefinition {
  return mlOp(type, (context) => [
    tensor(dtype ?? tensorAt(context, 0).dtype, [rowsOf(context), targets(context)]),
  ]);
}

/** x […, F] and indices [n] to the columns […, n]; a vector counts as one row. */
const arrayFeatureExtractor = mlOp("ArrayFeatureExtractor", (context) => {
  const { dtype, shape } = tensorAt(context, 0);
  const indices = tensorAt(context, 1).shape;
  const columns = indices === undefined ? unknownDim() : product(indices);
  if (shape === undefined) return [tensor(dtype, shape)];
  return [tensor(dtype, [...(shape.length < 2 ? [1] : shape.slice(0, -1)), columns])];
});

const labelEncoder = mlOp("LabelEncoder", (context) => [
  tensor(labelType(context), tensorAt(context, 0).shape),
]);

function labelType(context: OpContext): DType | undefined {
  if (context.has("values_tensor")) return context.tensor("values_tensor")?.dtype;
  if (context.has("values_strings")) return "string";
  if (context.has("values_int64s")) return "int64";
  if (context.has("values_floats")) return "float32";
  // Version 1 maps strings to integers and back.
  const { dtype } = tensorAt(context, 0);
  return dtype === undefined ? undefined : dtype === "string" ? "int64" : "string";
}

const categoryMapper = mlOp("CategoryMapper", (context) => {
  const { dtype, shape } = tensorAt(context, 0);
  return [tensor(dtype === undefined ? undefined : dtype === "string" ? "int64" : "string", shape)];
});

/** Adds an axis with one entry a category. */
const oneHotEncoder = mlOp("OneHotEncoder", (context) => {
  const { shape } = tensorAt(context, 0);
  const texts = context.strings("cats_strings")?.length ?? 0;
  const count = texts > 0 ? texts : context.ints("cats_int64s")?.length;
  return [tensor("float32", shape && [...shape, count ?? unknownDim()])];
});

/** Inputs [N, Fi] side by side. */
const featureVectorizer = mlOp("FeatureVectorizer", (context) => {
  const widths = context.ints("inputdimensions");
  const width = widths === undefined ? unknownDim() : widths.reduce((sum, each) => sum + each, 0);
  const known = context.inputs.map(asTensor).find((input) => input.shape !== undefined) ?? unknownTensor;
  return [tensor("float32", [known.shape?.[0] ?? unknownDim(), width])];
});

const castTypes: Record<string, DType> = { TO_FLOAT: "float32", TO_STRING: "string", TO_INT64: "int64" };

const castMap = mlOp("CastMap", (context) => [
  tensor(own(castTypes, context.string("cast_to") ?? "TO_FLOAT"), [1, unknownDim()]),
]);

const dictVectorizer = mlOp("DictVectorizer", () => [tensor(undefined, [1, unknownDim()])]);

const zipMap = mlOp("ZipMap", (context) => [
  { kind: "sequence", element: { kind: "map" }, length: rowsOf(context) },
]);

function targetCount(context: OpContext): number {
  return context.int("n_targets") ?? 1;
}

export const classicOps: readonly OpDefinition[] = [
  perElement("Binarizer"),
  perElement("Imputer"),
  perElement("Normalizer", "float32"),
  perElement("Scaler", "float32"),
  classifier("LinearClassifier"),
  classifier("SVMClassifier"),
  classifier("TreeEnsembleClassifier"),
  regressor("LinearRegressor", (context) => context.int("targets") ?? 1, "float32"),
  regressor("SVMRegressor", () => 1, "float32"),
  regressor("TreeEnsembleRegressor", targetCount, "float32"),
  regressor("TreeEnsemble", targetCount),
  arrayFeatureExtractor,
  labelEncoder,
  categoryMapper,
  oneHotEncoder,
  featureVectorizer,
  castMap,
  dictVectorizer,
  zipMap,
];
