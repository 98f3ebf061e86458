/** @file Whether this thread has linted: most code that a run needs is compiled then, and worth keeping for others. */
let isDone = false;

export function noteLinted(): void {
  isDone = true;
}

export function hasLintedHere(): boolean {
  return isDone;
}
