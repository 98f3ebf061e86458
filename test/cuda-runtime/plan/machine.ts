/** @file Plans of elementwise chains run on the CPU: what their expressions mean, on bytes where the plan says. */

import { encodeValues } from "../../../cuda-runtime/ir/encode.ts";
import type { Expr } from "../../../cuda-runtime/ir/expr.ts";
import { evaluateExpr } from "../../../cuda-runtime/ir/expr-evaluate.ts";
import type { Launch, Plan, Step } from "../../../cuda-runtime/ir/step.ts";
import { bytesOfType } from "../../../cuda-runtime/ir/storage.ts";
import {
  type DeviceBuffer,
  elementCount,
  expanded,
  stridesOf,
  type View,
} from "../../../cuda-runtime/ir/view.ts";
import type { ChainRequest, compileChain } from "../../../cuda-runtime/ptx/compile.ts";
import { decodeValues } from "../../../cuda-runtime/session/numbers.ts";
import { placesOf } from "../lower/movement-machine.ts";

/** A launch that still knows its expression, and what the expression's views were before constants were shared. */
interface ChainLaunch extends Launch {
  readonly request: ChainRequest;
  readonly asked: readonly View[];
}

/** `compileChain` whose launches `runPlan` can run: tests put it in the place of the real one. */
export function rememberingChains(real: typeof compileChain): typeof compileChain {
  return (request, target) => {
    const launch = real(request, target);
    return launch && ({ ...launch, request, asked: launch.reads } as ChainLaunch);
  };
}

/** Runs a launch of a built kernel by its meaning. */
export type Definition = (launch: Launch, memory: PlanMemory) => void;

/** Outputs by name, for inputs by name, all as numbers in row-major order. */
export function runPlan(
  plan: Plan,
  inputs: Readonly<Record<string, readonly number[]>>,
  definition?: Definition,
): Record<string, number[]> {
  const memory = new PlanMemory();
  for (const { buffer, offsetBytes, sizeBytes, readInto } of plan.uploads) {
    const bytes = new Uint8Array(sizeBytes);
    if (sizeBytes > 0) readInto(0, bytes);
    memory.bytesOf(buffer).set(bytes, offsetBytes);
  }
  for (const { name, view } of plan.inputs) {
    const values = inputs[name];
    if (values?.length !== elementCount(view.shape)) throw new Error(`${name} needs ${view.shape} elements`);
    memory.write(view, values);
  }
  for (const step of [...plan.prepare, ...plan.steps]) run(step, memory, definition);
  return Object.fromEntries(plan.outputs.map(({ name, view }) => [name, memory.read(view)]));
}

export class PlanMemory {
  readonly #buffers = new Map<DeviceBuffer, Uint8Array>();

  bytesOf(buffer: DeviceBuffer): Uint8Array {
    const known = this.#buffers.get(buffer);
    if (known !== undefined) return known;
    // As on a GPU, what was there before.
    const bytes = new Uint8Array(buffer.bytes).fill(0xff);
    this.#buffers.set(buffer, bytes);
    return bytes;
  }

  read(view: View): number[] {
    const all = decodeValues(view.type, this.bytesOf(view.buffer));
    return placesOf(view).map((place) => {
      const value = all[place];
      if (value === undefined) throw new Error("a view reaches outside of its buffer");
      return value;
    });
  }

  write(view: View, values: ArrayLike<number>): void {
    const size = bytesOfType(view.type);
    const encoded = encodeValues(view.type, values);
    const bytes = this.bytesOf(view.buffer);
    for (const [index, place] of placesOf(view).entries())
      bytes.set(encoded.subarray(index * size, (index + 1) * size), place * size);
  }
}

function run({ action }: Step, memory: PlanMemory, definition: Definition | undefined): void {
  if (action.kind === "clear") {
    memory.write(action.view, new Array<number>(elementCount(action.view.shape)).fill(0));
    return;
  }
  const { launch } = action;
  if (!isChain(launch)) {
    if (definition === undefined) throw new Error(`no definition of ${launch.kernel.entry}`);
    return definition(launch, memory);
  }
  const shared = new Map(launch.asked.map(({ buffer }, index) => [buffer, launch.reads[index]?.buffer]));
  for (const { expr, to } of launch.request.outputs) {
    const strides = stridesOf(to.shape);
    const loaded = new Map<View, number[]>();
    const read = (view: View) => {
      const known = loaded.get(view);
      if (known !== undefined) return known;
      const values = memory.read(
        expanded({ ...view, buffer: shared.get(view.buffer) ?? view.buffer }, to.shape),
      );
      loaded.set(view, values);
      return values;
    };
    const values = Array.from({ length: elementCount(to.shape) }, (_, at) =>
      evaluateExpr(expr, (node: Expr) => {
        if (node.kind === "load") return read(node.view)[at];
        if (node.kind !== "index") return undefined;
        const axis = to.shape.length - 1 - node.axisFromRight;
        return node.size === 1 ? 0 : Math.floor(at / (strides[axis] ?? 1)) % node.size;
      }),
    );
    memory.write(to, values);
  }
}

function isChain(launch: Launch): launch is ChainLaunch {
  return "request" in launch;
}
