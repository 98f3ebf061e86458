/** @file Dictionaries of ai.onnx.ml, which classifiers of classical machine learning return. */
import { type Dim, unknownDim } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { defineOp, type Fact, type OpContext, type OpDefinition } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { sequence } from "./facts.ts";

const castTypes: ReadonlyMap<string, DType> = new Map<string, DType>([
  ["TO_FLOAT", "float32"],
  ["TO_INT64", "int64"],
  ["TO_STRING", "string"],
]);

const inferences: Readonly<Record<string, (context: OpContext) => Fact>> = {
  /** A row of scores [N, classes] becomes N dictionaries. */
  ZipMap(context) {
    const { shape } = tensorAt(context, 0);
    return sequence({ kind: "map" }, shape?.length === 1 ? 1 : shape?.[0]);
  },
  /** The values of a dictionary as one row, in the order of their keys. */
  CastMap: (context) =>
    tensor(castTypes.get(context.string("cast_to") ?? "TO_FLOAT"), [1, denseWidth(context)]),
  /** The values of a dictionary as one row, in the order of a vocabulary. */
  DictVectorizer: (context) =>
    tensor(undefined, [
      1,
      (context.strings("string_vocabulary") ?? context.ints("int64_vocabulary"))?.length ?? unknownDim(),
    ]),
};

function denseWidth(context: OpContext): Dim {
  const width = context.string("map_form") === "SPARSE" ? context.int("max_map") : undefined;
  return width ?? unknownDim();
}

export const mapOps: readonly OpDefinition[] = Object.entries(inferences).map(([type, infer]) =>
  defineOp({ domain: "ai.onnx.ml", type, traffic: "none", infer: (context) => [infer(context)] }),
);
