/** @file One process at a time, among those that name the same file: for measurements on a GPU that several share. */
import { closeSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";

const pauseMilliseconds = 5;
/** Nobody measures for so long: its owner may be in another container, where its process is not seen to be gone. */
const longestHoldMilliseconds = 300_000;

/** Runs `work` while no other process does; at once without a file. What a process that died left behind is taken over. */
export function exclusively<Result>(file: string | undefined, work: () => Result): Result {
  if (file === undefined) return work();
  while (!take(file)) pause();
  try {
    return work();
  } finally {
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  try {
    const handle = openSync(file, "wx");
    writeSync(handle, String(process.pid));
    closeSync(handle);
    return true;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    if (!isHeld(file)) rmSync(file, { force: true });
    return false;
  }
}

function isHeld(file: string): boolean {
  try {
    const owner = Number(readFileSync(file, "utf8"));
    // Not written yet: its owner is at it.
    if (owner === 0) return true;
    process.kill(owner, 0);
    return Date.now() - statSync(file).mtimeMs < longestHoldMilliseconds;
  } catch {
    // Gone meanwhile, or its owner is.
    return false;
  }
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMilliseconds);
}
