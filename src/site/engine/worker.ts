/** @file The worker of the page: one job at a time, answered as it goes; cancelled by ending the worker. */
// First: the modules behind it have methods of that name.
import "./dispose.ts";

import { inputErrorOf } from "../../onnx/surroundings.ts";
import type { Answer, Job } from "../protocol.ts";
import { fixJob } from "./fix.ts";
import { lintJob } from "./lint.ts";

/** A worker's own end of the channel; the types are those of pages. */
interface Port {
  postMessage(answer: Answer): void;
  onmessage: ((event: { readonly data: Job }) => void) | null;
}

const port = globalThis as unknown as Port;

port.onmessage = ({ data: job }) => {
  const onProgress = (what: string) => port.postMessage({ kind: "progress", what });
  try {
    port.postMessage(job.kind === "lint" ? lintJob(job, onProgress) : fixJob(job, onProgress));
  } catch (error) {
    port.postMessage(failureOf(error));
  }
};

/** A bad input is named as on the command line; anything else is a bug in tc-lint and keeps its stack. */
function failureOf(error: unknown): Answer {
  const input = inputErrorOf(error);
  if (input !== undefined) return { kind: "failed", code: input.code, message: input.message };
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { kind: "failed", code: "internal-error", message: `tc-lint bug: ${message}` };
}
