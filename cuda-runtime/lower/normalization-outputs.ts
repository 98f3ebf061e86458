/** @file Memory that kernels store floats to, for outputs that the model may want as doubles. */

import { isFloatStorage } from "../ir/storage.ts";
import type { View } from "../ir/view.ts";
import type { LowerContext } from "./context.ts";

export class FloatOutputs {
  readonly #context: LowerContext;
  readonly #converted: { readonly index: number; readonly view: View }[] = [];

  constructor(context: LowerContext) {
    this.#context = context;
  }

  /** Row-major unless an order of axes, outermost first, is given. */
  at(index: number, order?: readonly number[]): View {
    const context = this.#context;
    if (isFloatStorage(context.outputType(index))) return context.output(index, order);
    const view = context.temporary("float32", context.outputShape(index), order);
    this.#converted.push({ index, view });
    return view;
  }

  /** After the launches that write them. */
  done(): void {
    for (const { index, view } of this.#converted) this.#context.setOutput(index, view);
  }
}

/** An input as a float that kernels take: doubles are rounded. */
export function floatInput(context: LowerContext, index: number): View {
  const view = context.input(index);
  return isFloatStorage(view.type) ? view : context.packed(view, { type: "float32" });
}
