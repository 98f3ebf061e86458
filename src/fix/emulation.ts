/** @file The half-precision result of a fix as FP32 with every value rounded to half: what ONNX Runtime's CPU can run honestly. */
import { inferFacts } from "../facts/infer.ts";
import { lockModel } from "../onnx/lock.ts";
import { openModel } from "../onnx/open.ts";
import { sourceState } from "../onnx/source-state.ts";
import { tensorBytes } from "../onnx/tensor-bytes.ts";
import { stageModel } from "../onnx/write.ts";
import type { HalfType } from "../passes/half/accepts.ts";
import { emulateHalf } from "../passes/half/emulate.ts";
import { FreshNames } from "../passes/names.ts";
import { encodeNumbers } from "../passes/tensors.ts";
import { patched, render } from "./edits.ts";

/**
 * Writes the emulation of the half-precision model at `path` to `destination`, a new file. Throws InputError.
 */
export async function writeEmulation(path: string, destination: string, type: HalfType): Promise<void> {
  using result = openModel(path);
  const patch = emulateHalf(
    {
      facts: inferFacts(result),
      names: new FreshNames(result),
      open: (tensor) => tensorBytes(result.source, result.files, tensor, encodeNumbers),
    },
    type,
  );
  const emulated = patched(result, patch, "tc-lint.emulated.data");
  using lock = lockModel(destination);
  using staged = await stageModel({
    source: result,
    state: sourceState(result),
    lock,
    render: (location) => render(emulated, location),
  });
  staged.commit();
}
