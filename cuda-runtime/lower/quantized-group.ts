/** @file Products of one activation's codes with several weights (queries, keys and values) as one product: each result is a slice of it. */
import { load } from "../ir/expr-build.ts";
import { elementCount, expanded, permuted, reshaped, sliced, type View } from "../ir/view.ts";
import { asColumns, emitCodeMatMul, emitScales } from "./code-products.ts";
import { lowerQuantized, type Quantized, type QuantizedContext } from "./quantized-products.ts";

interface GroupContext extends QuantizedContext {
  shape(value: Quantized["x"]["codes"]): readonly number[];
  setOutput(view: View): void;
}

/** What one of them has to be: floats of codes by codes, with a bias at most. */
export function joinsOthers({ kind, to, tail, bias, w }: Quantized): boolean {
  return (
    kind === "product" &&
    to === undefined &&
    tail === undefined &&
    w.zero === undefined &&
    bias?.kind !== "codes"
  );
}

/** Whichever is lowered first computes all of them. */
export class QuantizedGroup {
  readonly #members: readonly Quantized[];
  #results: ReadonlyMap<Quantized, View> | undefined;

  constructor(members: readonly Quantized[]) {
    this.#members = members;
  }

  lower(context: GroupContext, member: Quantized): void {
    if (this.#members.length < 2) return lowerQuantized(context, member);
    this.#results ??= lowerAll(context, this.#members);
    const part = this.#results.get(member);
    const own = part && reshaped(part, context.outputShape());
    if (own === undefined) throw new Error("tc-lint bug: a slice of rows has another shape than its product");
    context.setOutput(own);
  }
}

/** [rows, columns] each. */
function lowerAll(context: GroupContext, members: readonly Quantized[]): ReadonlyMap<Quantized, View> {
  const [first] = members;
  if (first === undefined) return new Map();
  const a = context.view(first.x.codes);
  const depth = a.shape.at(-1) ?? 1;
  const widths = members.map((member) => elementCount(context.shape(member.w.codes)) / depth);
  const total = widths.reduce((sum, width) => sum + width, 0);
  const weights = context.temporary("int8", [depth, total], [1, 0]);
  const [scale, bias] = [context.temporary("float32", [total]), context.temporary("float32", [total])];
  const to = context.temporary(context.outputType(), [elementCount(a.shape) / depth, total]);
  const results = new Map<Quantized, View>();
  let start = 0;
  for (const [index, member] of members.entries()) {
    const width = widths[index] ?? 0;
    const part = (view: View, axis: number) => sliced(view, axis, start, width);
    const w = context.view(member.w.codes);
    context.copy(member.isTurned ? permuted(w, [1, 0]) : w, part(weights, 1));
    const scales = emitScales(context, context.view(member.x.scale), context.view(member.w.scale), undefined);
    context.evaluateInto(load(expanded(scales, [width])), part(scale, 0));
    if (member.bias === undefined) context.clear(part(bias, 0));
    else context.evaluateInto(load(asColumns(context.view(member.bias.value)), "f32"), part(bias, 0));
    results.set(member, part(to, 1));
    start += width;
  }
  const zeroA = first.x.zero && context.view(first.x.zero);
  const flat = reshaped(a, [elementCount(a.shape) / depth, depth]) ?? context.packed(a);
  const isDone = emitCodeMatMul(context, {
    ...{ a: flat, b: weights, to, zeroA, zeroB: undefined, epilogue: { scale, bias } },
  });
  if (!isDone) throw new Error("tc-lint bug: products of codes were put side by side that no kernel takes");
  return results;
}
