/** @file Models of codes as ONNX Runtime adds them up exactly on this machine. */
import { Patch } from "../../ir/patch.ts";
import { exposeComputed } from "../../onnx/expose.ts";
import { type ModelBytes, modelInMemory } from "../../onnx/in-memory.ts";
import { modelFromBytes, openModel } from "../../onnx/open.ts";
import { patchedInMemory } from "../../onnx/patched-in-memory.ts";
import { productOfCodes } from "../../ops/written.ts";
import { numbersOf, storedAs, type Tensors } from "../tensor.ts";
import { shiftCodes } from "./shifted.ts";

/** A model as it is run, and what is to be said of it. */
export interface ExactSums {
  readonly bytes: ModelBytes;
  readonly notices: readonly string[];
}

/** Runs a model that has no inputs. */
export type RunOnce = (model: ModelBytes) => Promise<Tensors>;

let asked: Promise<boolean> | undefined;

/** Whether products of uint8 by int8 saturate at 16 bits here. Found once, by such a product. */
export function sumsSaturate(run: RunOnce): Promise<boolean> {
  asked ??= multiplyLargest(run).then((sum) => sum !== probeDepth * largestUnsigned * largestSigned);
  return asked;
}

const [probeDepth, largestUnsigned, largestSigned] = [64, 255, 127];
/** An empty graph of opset 13, IR version 8. */
const blankModel = Uint8Array.of(8, 8, 0x3a, 0, 0x42, 2, 0x10, 13);

async function multiplyLargest(run: RunOnce): Promise<number | undefined> {
  using model = modelFromBytes(blankModel, "a product of codes");
  const patch = new Patch();
  const graph = patch.of(model.graph);
  const all = (value: number) => new Uint8Array(probeDepth).fill(value);
  graph.added.set("a", storedAs("uint8", [1, probeDepth], all(largestUnsigned)));
  graph.added.set("b", storedAs("int8", [probeDepth, 1], all(largestSigned)));
  graph.last.push(productOfCodes("a", "b", "sum"));
  const outputs = await run(modelInMemory(model.path, () => exposeComputed(model, patch, ["sum"])));
  const sum = outputs.get("sum");
  return sum === undefined ? undefined : numbersOf(sum)[0];
}

/** For a CPU whose sums saturate. Undefined for a model whose products do not. Throws InputError as reading and inference do. */
export function withExactSums(path: string, given: ModelBytes | undefined): ExactSums | undefined {
  using model = given === undefined ? openModel(path) : modelFromBytes(given.bytes, path);
  const { patch, unknown } = shiftCodes(model);
  const notices = unknown.map(
    (label) =>
      `${label}: the types of its codes are not known, and this CPU's sums of uint8 by int8 saturate`,
  );
  if (patch.isEmpty && notices.length === 0) return undefined;
  const bytes = patchedInMemory(model, patch, path);
  return { bytes: given === undefined ? bytes : { ...bytes, folder: given.folder }, notices };
}
