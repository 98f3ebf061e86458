/**
 * @file `process`, in place of the module node:process in the bundle (scripts/build.mjs).
 *
 * Whoever imports the module has Node read each of its exports once, which opens the standard streams and lists Node's own flags: 4 of
 * the 270 ms that a small model takes, and again in every worker thread.
 */
export const cwd = (): string => process.cwd();
