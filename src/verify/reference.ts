/** @file What a model should compute, by ONNX Runtime on the CPU, in a child process. */
import { invariant } from "../ir/errors.ts";
import type { DecodeReference, DecodeTask } from "./decode/decode-here.ts";
import type { Reference, ReferenceTask } from "./reference-here.ts";
import { type ChildOptions, runInChild } from "./run-in-child.ts";

export type { Reference, ReferenceTask } from "./reference-here.ts";

/** Likewise, of what `decodeHere` throws. */
export async function decodedReferenceOf(task: DecodeTask, options: ChildOptions): Promise<DecodeReference> {
  const result = await runInChild({ kind: "decode", task }, task.path, options);
  invariant(result.kind === "decoded", `a decoding was answered by "${result.kind}"`);
  return result.decoded;
}

/** Throws InputError: what `referenceHere` throws, or `verify-timeout`, `verify-memory`, `verify-crashed`. */
export async function referenceOf(task: ReferenceTask, options: ChildOptions): Promise<Reference> {
  const result = await runInChild({ kind: "reference", task }, task.path, options);
  invariant(result.kind === "referenced", `a reference was answered by "${result.kind}"`);
  return result.reference;
}
