/**
 * @file Proof of a half-precision result. ONNX Runtime's CPU provider has no bfloat16 arithmetic, and computes chains of FP16 in
 * FP32 without rounding in between: so the result runs in FP32 there, with every value that is held in half rounded to
 * it. An FP16 result is run itself as well; the types of a BF16 one are checked by inference.
 */
import { join } from "node:path";
import { inferFacts } from "../facts/infer.ts";
import { openModel } from "../onnx/open.ts";
import { inTemporaryFolder } from "../onnx/temporary-folder.ts";
import type { HalfType } from "../passes/half/accepts.ts";
import { typeErrors } from "../passes/half/check.ts";
import type { VerifyReport } from "../verify/index.ts";
import { writeEmulation } from "./emulation.ts";
import { DifferenceError, type Proof } from "./fix.ts";
import { heldSame, type ProofRequest, proofOf } from "./proof.ts";

/** Throws InputError `not-the-same` where outputs or types are wrong. */
export async function proveHalf(request: ProofRequest, type: HalfType): Promise<Proof> {
  const reports: VerifyReport[] = [];
  if (request.half === "bf16") checkTypes(request);
  else reports.push(await heldSame(request));
  await inTemporaryFolder("half", async (folder) => {
    const candidate = join(folder, "emulated.onnx");
    await writeEmulation(request.candidate, candidate, type);
    reports.push(await heldSame({ ...request, candidate }));
  });
  const proof = proofOf(request, reports);
  const how =
    request.half === "bf16"
      ? "BF16 computed in FP32 with every value rounded"
      : "in FP16, and in FP32 with every value rounded to FP16";
  return { ...proof, summary: `${proof.summary}; ${how}` };
}

function checkTypes({ path, candidate }: ProofRequest): void {
  using model = openModel(candidate);
  const [first] = typeErrors(inferFacts(model));
  if (first !== undefined) {
    throw new DifferenceError(path, `the BF16 result has wrong types: ${first}`);
  }
}
