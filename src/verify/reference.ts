/** @file What a model should compute, by ONNX Runtime on the CPU, in a child process. */
import { invariant } from "../ir/errors.ts";
import type { Reference, ReferenceTask } from "./reference-here.ts";
import { type ChildOptions, runInChild } from "./run-in-child.ts";

export type { Reference, ReferenceTask } from "./reference-here.ts";

/** Throws InputError: what `referenceHere` throws, or `verify-timeout`, `verify-memory`, `verify-crashed`. */
export async function referenceOf(task: ReferenceTask, options: ChildOptions): Promise<Reference> {
  const result = await runInChild({ kind: "reference", task }, task.path, options);
  invariant(result.kind === "referenced", `a reference was answered by "${result.kind}"`);
  return result.reference;
}
