/**
 * @file Proof of a BF16 result. ONNX Runtime's CPU provider has no bfloat16 arithmetic, so the same decisions run in FP32
 * there, with every value that is held in BF16 rounded to it; the types of the real result are checked by inference.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inferFacts } from "../facts/infer.ts";
import type { Proof } from "../fix/fix.ts";
import { type FixSettings, runPasses } from "../fix/pipeline.ts";
import { InputError } from "../ir/errors.ts";
import { lockModel } from "../onnx/lock.ts";
import { openModel } from "../onnx/open.ts";
import { sourceState } from "../onnx/source-state.ts";
import { stageModel } from "../onnx/write.ts";
import { typeErrors } from "../passes/half/check.ts";
import { emulateHalf } from "../passes/half/emulate.ts";
import type { Pass } from "../passes/pass.ts";
import { type ProofRequest, proveSame } from "./fix-verify.ts";

const emulation: Pass = {
  name: "half",
  safe: false,
  run: (context) => ({ patch: emulateHalf(context), notes: [] }),
};

/** Throws InputError `not-the-same` where outputs or types are wrong. */
export async function proveBfloat16(request: ProofRequest, settings: FixSettings): Promise<Proof> {
  checkTypes(request);
  const folder = mkdtempSync(join(tmpdir(), "tc-lint-bf16-"));
  try {
    using original = openModel(request.original);
    const passes = settings.passes.map((pass) => (pass.name === "half" ? emulation : pass));
    const { render } = runPasses(original, { ...settings, passes });
    using lock = lockModel(join(folder, "emulated.onnx"));
    using staged = await stageModel({ source: original, state: sourceState(original), lock, render });
    const proof = await proveSame({ ...request, candidate: staged.path });
    return { ...proof, summary: `${proof.summary}; BF16 computed in FP32 with every value rounded` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function checkTypes({ path, candidate }: ProofRequest): void {
  using model = openModel(candidate);
  const [first] = typeErrors(inferFacts(model));
  if (first !== undefined) {
    throw new InputError(
      "not-the-same",
      `${path}: the BF16 result has wrong types (${first}); nothing was written`,
    );
  }
}
