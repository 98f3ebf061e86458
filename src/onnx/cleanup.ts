/**
 * @file Files that must not outlive the process unless they come into place: removed on the signals that ask it to end.
 *
 * Handlers are there only while such files are. What is done with them takes no more than a piece of a file at a time, so a
 * signal is answered at once; whatever ends the process without asking leaves them to the next run (`removeLeftovers`).
 */
import { rmSync } from "node:fs";
import { constants } from "node:os";
import { setImmediate } from "node:timers/promises";

const signals = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

const provisional = new Set<string>();

/** From now on a signal removes this file, or folder. */
export function removeOnSignal(path: string): void {
  if (provisional.size === 0) for (const signal of signals) process.on(signal, end);
  provisional.add(path);
}

/** It is in place, or gone. */
export function keepOnSignal(path: string): void {
  if (!provisional.delete(path) || provisional.size > 0) return;
  for (const signal of signals) process.off(signal, end);
}

/**
 * Signals that came while something was done in one piece, as a program that is waited for, are answered before this resolves: the
 * first turn of the event loop may be past its poll already. To be awaited before a guard's work, which loses them.
 */
export async function answerSignals(): Promise<void> {
  await setImmediate();
  await setImmediate();
}

/** 128 and the signal's number, as shells have it. */
function end(signal: (typeof signals)[number]): void {
  for (const path of provisional) rmSync(path, { recursive: true, force: true });
  process.exit(128 + constants.signals[signal]);
}
