/** @file The work that doctor gives a GPU: a product on Tensor Cores, then a chain that the driver compiles. */

import { encodeValues } from "../../cuda-runtime/ir/encode.ts";
import { plainEpilogue } from "../../cuda-runtime/ir/epilogue.ts";
import { load, unary } from "../../cuda-runtime/ir/expr-build.ts";
import type { Plan, PlanTarget } from "../../cuda-runtime/ir/step.ts";
import { emitGemm } from "../../cuda-runtime/kernels/gemm/gemm.ts";
import { PlanDraft } from "../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../cuda-runtime/plan/emitter.ts";
import { decodeValues } from "../../cuda-runtime/session/numbers.ts";

const size = 128;

/** Whole numbers so small that half precision is exact. */
const a = Array.from({ length: size * size }, (_, index) => (index % 7) - 3);
const b = Array.from({ length: size * size }, (_, index) => (index % 5) - 2);

/** y = -(a · b), in half precision. */
export function checkPlan(target: PlanTarget): {
  readonly plan: Plan;
  readonly inputs: ReadonlyMap<string, Uint8Array>;
} {
  const draft = new PlanDraft();
  draft.origin = { label: "check", operator: "doctor", subject: "the doctor's check" };
  const emitter = new PlanEmitter(draft, target, false);
  const shape = [size, size];
  const input = draft.allocate("input", "float16", shape);
  const output = draft.allocate("output", "float16", shape);
  const product = draft.allocate("temporary", "float16", shape);
  const weights = emitter.constant("float16", shape, b);
  emitGemm(emitter, { a: input, b: weights, to: product, epilogue: plainEpilogue });
  emitter.evaluateInto(unary("neg", load(product)), output);
  const plan = {
    ...draft.finish(),
    inputs: [{ name: "a", view: input }],
    outputs: [{ name: "y", view: output }],
  };
  return { plan, inputs: new Map([["a", encodeValues("float16", a)]]) };
}

/** Undefined where they are right. */
export function problemOfOutputs(outputs: ReadonlyMap<string, Uint8Array>): string | undefined {
  const values = decodeValues("float16", outputs.get("y") ?? new Uint8Array());
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      let sum = 0;
      for (let k = 0; k < size; k++) sum += (a[row * size + k] ?? 0) * (b[k * size + column] ?? 0);
      const found = values[row * size + column];
      if (found !== -sum && !(found === 0 && sum === 0))
        return `a product is wrong: element ${row},${column} is ${found}, not ${-sum}`;
    }
  }
  return undefined;
}
