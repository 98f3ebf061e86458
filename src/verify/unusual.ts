/** @file Inputs that few callers give, and that a function is defined on all the same: which of them a model can be given. */
import { dtypes } from "../ir/dtype.ts";
import type { Model, Value } from "../ir/model.ts";
import { requiredInputs } from "../ir/symbols.ts";
import type { Budget } from "./budget.ts";
import type { DrawKind } from "./inputs.ts";
import { addsToScores, type Bindings, useOf } from "./use.ts";

/** Half precision is judged on the range that its islands were chosen for: nothing huge. */
const kinds = {
  relative: ["infinity", "nan", "huge", "masked", "negative ids"],
  half: ["infinity", "nan", "masked", "negative ids"],
} as const satisfies Record<Budget["kind"], readonly DrawKind[]>;

type UnusualKind = (typeof kinds)["relative"][number];

/** Whether an input is another one in such a draw. */
const concerns: Readonly<Record<UnusualKind, (model: Model, input: Value, sizes: Bindings) => boolean>> = {
  infinity: isFloatValue,
  nan: isFloatValue,
  huge: isFloatValue,
  masked: (model, input, sizes) =>
    useOf(model, input, sizes).kind === "mask" || addsToScores(model, input, sizes),
  "negative ids": (model, input, sizes) => isSigned(input) && useOf(model, input, sizes).kind === "index",
};

/** Masks of few rows take two draws to be masked in every way. */
const seeds: Partial<Readonly<Record<UnusualKind, readonly number[]>>> = { masked: [1, 2] };

/** Draws that differ from a normal one for this model. */
export function unusualDraws(
  model: Model,
  sizes: Bindings,
  budget: Budget,
): { readonly kind: DrawKind; readonly seed: number }[] {
  const inputs = requiredInputs(model);
  return kinds[budget.kind]
    .filter((kind) => inputs.some((input) => concerns[kind](model, input, sizes)))
    .flatMap((kind) => (seeds[kind] ?? [1]).map((seed) => ({ kind, seed })));
}

function isFloatValue(model: Model, input: Value, sizes: Bindings): boolean {
  return kindOf(input) === "float" && useOf(model, input, sizes).kind === "value";
}

function isSigned(input: Value): boolean {
  return kindOf(input) === "int";
}

function kindOf({ declared }: Value): string | undefined {
  const dtype = declared?.kind === "tensor" ? declared.dtype : undefined;
  return dtype === undefined ? undefined : dtypes[dtype].kind;
}
