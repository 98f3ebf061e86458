/** @file Models with weights inside and beside them, and a change of all their weights, to be written. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { Patch } from "../../src/ir/patch.ts";
import { applyPatch, type PatchedModel } from "../../src/onnx/apply.ts";
import { lockModel } from "../../src/onnx/lock.ts";
import { openModel } from "../../src/onnx/open.ts";
import { sourceState } from "../../src/onnx/source-state.ts";
import { stageModel } from "../../src/onnx/write.ts";
import type { OnWriteStep } from "../../src/onnx/write-step.ts";
import { encodeNumbers, MemoryBytes } from "../../src/passes/tensors.ts";
import { float, floats, info, modelBytes, node, type types } from "./build.ts";

/** Elements of each weight. */
export const weightSize = 1024;
const weightBytes = 4 * weightSize;

/** x + inner + outer → y, with `outer` in `model.weights`. Returns the model's path. */
export function writeTestModel(folder: string, fillers = 0): string {
  const outer: types.ITensorProto = {
    name: "outer",
    dims: [weightSize],
    dataType: float,
    dataLocation: 1,
    externalData: [
      { key: "location", value: "model.weights" },
      { key: "offset", value: "0" },
      { key: "length", value: String(weightBytes) },
    ],
  };
  const ones = new Array<number>(weightSize).fill(1);
  const filler = floats("filler", [fillers], new Array<number>(fillers).fill(0));
  const bytes = modelBytes({
    node: [node("Add", ["x", "inner"], ["sum"]), node("Add", ["sum", "outer"], ["y"])],
    input: [info("x", [weightSize])],
    output: [info("y", [weightSize])],
    initializer: [floats("inner", [weightSize], ones), outer, ...(fillers > 0 ? [filler] : [])],
  });
  const model = path.join(folder, "model.onnx");
  writeFileSync(path.join(folder, "model.weights"), new Uint8Array(Float32Array.from(ones).buffer));
  writeFileSync(model, bytes);
  return model;
}

export interface FixOptions {
  readonly destination?: string;
  readonly onStep?: OnWriteStep;
  /** What both weights become. */
  readonly value?: number;
  /** Between staging and committing. */
  readonly beforeCommit?: (temporary: string) => void;
}

/** Sets both weights to a number and writes the model. */
export async function fixOnce(model: string, options: FixOptions = {}): Promise<void> {
  using lock = lockModel(options.destination ?? model, options.onStep);
  using source = openModel(model);
  const state = sourceState(source);
  const render = (location: string): PatchedModel => {
    const patch = new Patch();
    const numbers = new Array<number>(weightSize).fill(options.value ?? 2);
    const bytes = new MemoryBytes(encodeNumbers("float32", numbers));
    for (const name of ["inner", "outer"]) {
      patch.of(source.graph).tensors.set(name, { dtype: "float32", dims: [weightSize], bytes });
    }
    return applyPatch(source, source.source, patch, location);
  };
  using staged = await stageModel({ source, state, lock, render });
  options.beforeCommit?.(staged.path);
  staged.commit();
}

/** Both weights' value where the model is whole, read from the files. */
export function weightsOf(model: string): { readonly inner: number; readonly outer: number } {
  using opened = openModel(model);
  const [inner, outer] = ["inner", "outer"].map((name) => {
    const tensor = opened.graph.values.get(name)?.initializer;
    const elements = tensor && opened.reader.elements(tensor, weightSize);
    if (elements?.length !== weightSize || new Set(elements).size !== 1) throw new Error(`${name} is torn`);
    return elements[0] ?? Number.NaN;
  });
  return { inner: inner ?? Number.NaN, outer: outer ?? Number.NaN };
}
