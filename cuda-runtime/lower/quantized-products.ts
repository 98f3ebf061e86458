/** @file A product of dequantized operands whose result may be quantized, as one product of codes. */
import type { Value } from "../../src/ir/model.ts";
import type { Emitter } from "../ir/emitter.ts";
import { divide, load } from "../ir/expr-build.ts";
import type { StorageType } from "../ir/storage.ts";
import { channelsLastOrder, elementCount, permuted, type View } from "../ir/view.ts";
import type { CodeNumbers } from "../kernels/gemm-int8/codes.ts";
import type { CodeTail } from "../kernels/gemm-int8/tail.ts";
import { asColumns, emitCodeConvolution, emitCodeMatMul, emitScales } from "./code-products.ts";
import type { Attributes } from "./context.ts";
import { slidingWindow } from "./conv-window.ts";

export interface Quantizer {
  readonly scale: Value;
  /** Undefined: 0. */
  readonly zero: Value | undefined;
}

/** The zero point where it is known, and the floats that the codes are made of for this product alone. */
export interface KnownCodes {
  readonly zero: number;
  readonly from: { readonly value: Value; readonly quantizer: CodeNumbers } | undefined;
}

export interface Quantized {
  readonly kind: "convolution" | "product";
  /** Of a convolution: its window. */
  readonly attributes: Pick<Attributes, "ints" | "string">;
  readonly x: Quantizer & { readonly codes: Value; readonly known: KnownCodes | undefined };
  readonly w: Quantizer & { readonly codes: Value };
  /** w is [n, k]. */
  readonly isTurned: boolean;
  /** One a column: int32 in units of both scales, or floats. */
  readonly bias: { readonly kind: "codes" | "floats"; readonly value: Value } | undefined;
  /** Undefined: the result are floats. */
  readonly to: Quantizer | undefined;
  /** Codes of the result are at least this: a Relu. */
  readonly low: number | undefined;
  readonly tail: QuantizedTail | undefined;
}

/** What follows the result, or the codes that it is rounded to: an activation, a residual, a Relu, codes of their own. */
export interface QuantizedTail extends Omit<CodeTail, "residual"> {
  readonly residual: { readonly value: Value; readonly codes: CodeNumbers | undefined } | undefined;
}

/** What it asks of whoever plans. */
export interface QuantizedContext extends Emitter {
  view(value: Value): View;
  output(order?: readonly number[]): View;
  outputShape(): readonly number[];
  outputType(): StorageType;
}

export function lowerQuantized(context: QuantizedContext, quantized: Quantized): void {
  const { kind, x, w, to, bias, isTurned, tail } = quantized;
  const view = (value: Value | undefined) => value && context.view(value);
  const scale = emitScales(context, context.view(x.scale), context.view(w.scale), view(to?.scale));
  const shared = {
    zeroA: view(x.zero),
    zeroB: view(w.zero),
    addend: bias?.kind === "codes" ? context.packed(asColumns(context.view(bias.value))) : undefined,
    epilogue: {
      scale,
      bias:
        bias?.kind === "floats" ? floatBias(context, context.view(bias.value), view(to?.scale)) : undefined,
      zeroOut: view(to?.zero),
      low: quantized.low,
      tail: tail && { ...tail, residual: residualOf(context, tail) },
    },
  };
  const [a, b] = [context.view(x.known?.from?.value ?? x.codes), context.view(w.codes)];
  const isDone =
    kind === "product"
      ? emitCodeMatMul(context, { a, b: isTurned ? permuted(b, [1, 0]) : b, to: context.output(), ...shared })
      : emitConvolution(context, quantized, a, b, shared);
  if (!isDone) throw new Error("tc-lint bug: a quantized product was recognised that no kernel takes");
}

function residualOf(context: QuantizedContext, { residual }: QuantizedTail): CodeTail["residual"] {
  return residual && { view: context.view(residual.value), codes: residual.codes };
}

function emitConvolution(
  context: QuantizedContext,
  { attributes, x: { known } }: Quantized,
  x: View,
  w: View,
  shared: Omit<Parameters<typeof emitCodeMatMul>[1], "a" | "b" | "to">,
): boolean {
  const { strides, dilations, padsBegin } = slidingWindow(attributes, w.shape.slice(2), x.shape.slice(2));
  const order = channelsLastOrder(context.outputShape().length);
  return emitCodeConvolution(context, {
    ...{ x, w, strides, dilations, pads: padsBegin, groups: 1, ...shared },
    known: known && { zero: known.zero, quantizer: known.from?.quantizer },
    output: () => context.output(order),
  });
}

/** In units of the output's scale, where that has one. */
function floatBias(context: QuantizedContext, bias: View, ys: View | undefined): View {
  const own = load(asColumns(bias), "f32");
  const expr = ys === undefined ? own : divide(own, load(asColumns(ys), "f32"));
  return context.evaluate(expr, [elementCount(bias.shape)], "float32");
}
