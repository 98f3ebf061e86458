/**
 * @file The end of the process, where the command did not come to its own: code of the project that it runs (a configuration, a plugin)
 * can call `process.exit`, await what never comes, or throw when nobody listens. None of that may look like "no findings", or like findings.
 * Imports nothing but what imports nothing: `--version` waits for it.
 */
import { constants } from "node:os";
import { ranModulesText } from "../files/ran-modules.ts";

const failure = 2;
/** From here on it was a signal that ended the process, and whoever sent it knows. */
const leastSignalCode = 128;

let isOver = false;

/** To be called before any work; `commandIsOver` after it. */
export function watchTheEnd(): void {
  heedSignals();
  process.on("exit", (code) => {
    if (isOver || code >= leastSignalCode) return;
    process.exitCode = failure;
    say(`the run ended before it was done: ${suspects("called process.exit, or awaits what never comes")}`);
  });
  process.on("uncaughtException", (error: unknown) => {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    say(
      `an error that nobody waited for ended the run: ${suspects("threw it from a timer, an event or a promise")}\n${stack}`,
    );
    isOver = true;
    process.exit(failure);
  });
}

const signals = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

/**
 * The first process of a container gets no signal that nobody listens to: `docker stop`, and a CI that cancels a job, would wait until they
 * kill it. Whoever else listens knows more of what is to be cleared up.
 */
function heedSignals(): void {
  if (process.pid !== 1) return;
  for (const signal of signals)
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(leastSignalCode + constants.signals[signal]);
    });
}

/** The exit code is decided, and all is written. What code of the project left open (a timer, a socket) would keep the process for ever. */
export function commandIsOver(): void {
  isOver = true;
  if (ranModulesText() !== undefined) process.exit();
}

function suspects(what: string): string {
  const ran = ranModulesText();
  return ran === undefined
    ? "this is a bug in tc-lint; please report it"
    : `code that it ran ${what} (${ran})`;
}

function say(text: string): void {
  process.stderr.write(`tc-lint: ${text}\n`);
}
