/**
 * @file The process that runs models: it may crash, hang or run out of memory, and its parent lives on.
 *
 * It takes one task, answers once and ends. A thread watches its memory: the main one is inside ONNX Runtime for minutes.
 */
import { isWatching, startWatch } from "../ir/memory-watch.ts";
import { inputErrorOf } from "../onnx/surroundings.ts";
import { decodeHere } from "./decode/decode-here.ts";
import type { ChildAnswer, ChildRequest, ChildResult, Work } from "./protocol.ts";
import { observeHere } from "./ranges-here.ts";
import { referenceHere } from "./reference-here.ts";
import { verifyHere } from "./verify-here.ts";

if (!isWatching()) process.once("message", (request: ChildRequest) => void answer(request));

async function answer({ work, memoryBytes }: ChildRequest): Promise<void> {
  startWatch(new URL(import.meta.url), memoryBytes);
  // Without a parent nobody waits for an answer.
  process.once("disconnect", () => process.exit(1));
  const send = (message: ChildAnswer) => new Promise((sent) => process.send?.(message, sent));
  try {
    await send(await run(work, (what) => void send({ kind: "progress", what })));
  } catch (error) {
    await send(failureOf(error));
  }
  // ONNX Runtime's threads need no farewell.
  process.exit(0);
}

async function run(work: Work, onProgress: (what: string) => void): Promise<ChildResult> {
  switch (work.kind) {
    case "compare":
      return { kind: "compared", outcome: await verifyHere(work.task, onProgress) };
    case "observe":
      return { kind: "observed", ranges: await observeHere(work.task, onProgress) };
    case "reference":
      return { kind: "referenced", reference: await referenceHere(work.task, onProgress) };
    case "decode":
      return { kind: "decoded", decoded: await decodeHere(work.task, onProgress) };
  }
}

function failureOf(error: unknown): ChildAnswer {
  const input = inputErrorOf(error);
  if (input !== undefined) return { kind: "failed", code: input.code, message: input.message };
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { kind: "failed", code: undefined, message: stack ?? message };
}
