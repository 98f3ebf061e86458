/** @file What padding costs a value: wider traffic, and the conversion where it meets an input or an output of the model. */
import type { TrafficVariant } from "../../cost/traffic.ts";
import type { PaddedSizes } from "../../ir/axis.ts";
import { evaluateDim } from "../../ir/dim.ts";
import { bytesOf } from "../../ir/dtype.ts";
import type { Value } from "../../ir/model.ts";
import type { TrafficWork } from "../../ops/work.ts";
import type { Pricing } from "../pass.ts";
import { isInterleaved } from "./edges.ts";
import { paddedFact } from "./padded.ts";
import type { Relations } from "./relate.ts";

/** Microseconds of one run; 0 for a value that padding leaves alone. */
export function valueTime(value: Value, sizes: PaddedSizes, relations: Relations, pricing: Pricing): number {
  const plain = trafficOf(value, new Map(), relations, pricing);
  const padded = trafficOf(value, sizes, relations, pricing);
  if (plain === undefined || padded === undefined || plain.bytesRead === padded.bytesRead) return 0;
  const widened = Math.max(0, pricing.estimate(padded) - pricing.estimate(plain));
  if (!value.isInput && !value.isOutput) return widened;
  const gathered = relations.axesOf(value)?.some((axis) => isInterleaved(axis, sizes)) ?? false;
  const steps: [TrafficWork<number>, TrafficVariant][] = [
    // A Slice reads what it keeps, a Pad writes what it adds.
    value.isInput ? [{ ...padded, bytesRead: plain.bytesRead }, "pad"] : [plain, "slice"],
    ...(gathered
      ? [[value.isInput ? padded : plain, "gather"] satisfies [TrafficWork<number>, TrafficVariant]]
      : []),
  ];
  return steps.reduce(
    (total, [work, variant]) => total + pricing.estimate({ ...work, pattern: "copy" }, { variant }),
    widened,
  );
}

function trafficOf(
  value: Value,
  sizes: PaddedSizes,
  relations: Relations,
  { bindings }: Pricing,
): TrafficWork<number> | undefined {
  const fact = paddedFact(value, relations, sizes);
  if (fact?.kind !== "tensor" || fact.shape === undefined || fact.dtype === undefined) return undefined;
  const shape = fact.shape.map((dim) => evaluateDim(dim, bindings));
  if (!shape.every((dim) => dim !== undefined)) return undefined;
  const elements = shape.reduce((total, dim) => total * dim, 1);
  const columns = shape.at(-1) ?? 1;
  const bytes = bytesOf(fact.dtype, elements);
  const size = { bytesRead: bytes, bytesWritten: bytes, dtype: fact.dtype };
  return { kind: "traffic", pattern: "elementwise", rows: elements / Math.max(columns, 1), columns, ...size };
}
