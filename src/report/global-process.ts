/**
 * @file `process`, in place of the module node:process in the bundle (scripts/build.mjs).
 *
 * Chalk imports the module. Node then reads each of its exports once, and so opens the standard streams and lists its own flags: 4 of
 * the 270 ms that a small model takes, and again in every worker thread.
 */
export default process;
export const cwd = (): string => process.cwd();
