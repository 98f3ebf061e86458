/** @file What the executable and its worker threads run: one script, whose compiled code is kept between runs (kept-code.ts). */
import { hasLintedHere } from "../api/linted-here.ts";
import { commandIsOver, watchTheEnd } from "./last-words.ts";
import { main } from "./main.ts";
import { withGuardedStdout } from "./stdout.ts";

/** Its exports. */
export interface Program {
  readonly run: typeof run;
  readonly serve: typeof serve;
}

/** Runs a command to its end, and sets the exit code. `workerUrl` is the script of worker threads. */
export async function run(args: readonly string[], workerUrl: URL, keepCompiled: () => void): Promise<void> {
  await withGuardedStdout(async () => {
    watchTheEnd();
    process.exitCode = await main(args, workerUrl);
  });
  if (hasLintedHere()) keepCompiled();
  commandIsOver();
}

/** In a worker thread: answers what it is sent. */
export async function serve(keepCompiled: () => void): Promise<void> {
  const { answerRequests } = await import("../api/worker-thread.ts");
  answerRequests(keepCompiled);
}
