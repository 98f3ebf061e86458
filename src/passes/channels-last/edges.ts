/** @file Inputs and outputs of the model that `--nhwc-io` moves. */

import type { Scope } from "../../facts/scope.ts";
import { dtypes } from "../../ir/dtype.ts";
import type { Value, ValueType } from "../../ir/model.ts";
import type { PassContext } from "../pass.ts";
import { toNhwc } from "./functions.ts";
import { anchors, formOf, isImage } from "./layouts.ts";

/** Float images that may move: no subgraph reads them under their name. An input moves where a convolution reads it. */
export function movableEdges({ model, facts }: PassContext): Set<Value> {
  const { graph } = model;
  const { root } = facts;
  const inputs = graph.inputs.filter(
    (value) =>
      isFree(value, root) &&
      value.consumers.some(
        (reader) => anchors.has(reader.opType) && formOf(reader, root)?.images.includes(value) === true,
      ),
  );
  return new Set([...inputs, ...graph.outputs.filter((value) => isFree(value, root))]);
}

function isFree(value: Value, scope: Scope): boolean {
  const { declared, consumers, graph } = value;
  if (declared?.kind !== "tensor" || declared.dtype === undefined || declared.shape?.length !== 4)
    return false;
  const isBoth = value.isInput && value.isOutput;
  const isCaptured = consumers.some((reader) => reader.graph !== graph);
  const isFloat = dtypes[declared.dtype].kind === "float";
  return isFloat && !isBoth && !isCaptured && value.initializer === undefined && isImage(value, scope);
}

/** The declared type with its axes in NHWC order. */
export function nhwcType({ declared }: Value): ValueType | undefined {
  if (declared?.kind !== "tensor" || declared.shape === undefined) return undefined;
  const { shape } = declared;
  const moved = toNhwc.flatMap((axis) => {
    const dim = shape[axis];
    return dim === undefined ? [] : [dim];
  });
  return { ...declared, shape: moved };
}
