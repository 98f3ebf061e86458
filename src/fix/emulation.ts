/** @file The half-precision result of a fix as FP32 with every value rounded to half: what ONNX Runtime's CPU can run honestly. */
import { lockModel } from "../onnx/lock.ts";
import { openModel } from "../onnx/open.ts";
import { sourceState } from "../onnx/source-state.ts";
import { stageModel } from "../onnx/write.ts";
import { emulateHalf } from "../passes/half/emulate.ts";
import { half } from "../passes/half/half.ts";
import type { Pass } from "../passes/pass.ts";
import { type FixSettings, runPasses } from "./pipeline.ts";

const emulation: Pass = {
  name: "half",
  safe: false,
  run: (context) => ({ patch: emulateHalf(context), notes: [] }),
};

/** Takes the decisions of `settings` for the model at `path`, and writes their emulation to `destination`, a new file. Throws InputError. */
export async function writeEmulation(
  path: string,
  destination: string,
  settings: FixSettings,
): Promise<void> {
  using original = openModel(path);
  const passes = settings.passes.map((pass) => (pass === half ? emulation : pass));
  const { render } = runPasses(original, { ...settings, passes });
  using lock = lockModel(destination);
  using staged = await stageModel({ source: original, state: sourceState(original), lock, render });
  staged.commit();
}
