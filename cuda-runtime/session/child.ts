/** @file The process that uses the GPU, from within: it takes one task, answers once and ends. A thread watches its memory. */
import { InputError } from "../../src/ir/errors.ts";
import { isWatching, startWatch } from "../../src/ir/memory-watch.ts";
import { gpuFailure } from "./open.ts";
import type { ChildAnswer, ChildRequest } from "./process.ts";
import { taskFolder } from "./wrapped.ts";

/** Answers its parent's task with what `work` makes of it. Called once, at the start of the child's script. */
export function serveTask<Task, Result>(
  work: (task: Task, onProgress: (what: string) => void) => Promise<Result>,
): void {
  if (isWatching()) return;
  const folder = taskFolder<Task, Result>(process.argv);
  const serve = (
    { task, memoryBytes }: ChildRequest<Task>,
    send: (message: ChildAnswer<Result>) => Promise<void>,
  ) => {
    startWatch(process.argv[1] ?? "", memoryBytes);
    const answer = async (): Promise<ChildAnswer<Result>> => {
      try {
        return { kind: "done", result: await work(task, (what) => void send({ kind: "progress", what })) };
      } catch (error) {
        return failureOf(gpuFailure(error));
      }
    };
    // The driver's threads need no farewell.
    void answer()
      .then(send)
      .then(() => process.exit(0));
  };
  if (folder !== undefined) {
    serve(folder.request(), folder.answer);
    return;
  }
  // Without a parent nobody waits for an answer.
  process.once("disconnect", () => process.exit(1));
  process.once("message", (request: ChildRequest<Task>) =>
    serve(request, (message) => new Promise((sent) => process.send?.(message, () => sent()))),
  );
}

function failureOf(error: unknown): ChildAnswer<never> {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const code = error instanceof InputError ? error.code : undefined;
  return { kind: "failed", code, message: code === undefined ? (stack ?? message) : message };
}
