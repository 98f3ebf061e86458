/** @file The steps of writing a model: what each is called, and what its failure looks like. */
import { InputError } from "../ir/errors.ts";

/** In order. What stands there completes "… failed while ". */
export const writeSteps = {
  lock: "taking the lock",
  clean: "removing what an interrupted run left",
  "create-data": "creating the data file",
  "write-data": "writing the data file",
  "sync-data": "bringing the data file to the disk",
  "check-data": "reading the data file back",
  "name-data": "naming the data file",
  "create-model": "creating the new model",
  "write-model": "writing the new model",
  "sync-model": "bringing the new model to the disk",
  "check-model": "reading the new model back",
  "compare-source": "comparing the source with what was read",
  replace: "putting the new model in place",
  "sync-folder": "bringing the folder to the disk",
  unlock: "giving up the lock",
} as const;

export type WriteStep = keyof typeof writeSteps;

/** Called before each step, and before every piece that is written: tests make a step fail, or end the process in it. */
export type OnWriteStep = (step: WriteStep) => void;

const codes: Readonly<Record<string, string>> = {
  ENOSPC: "disk-full",
  EDQUOT: "disk-full",
  EFBIG: "disk-full",
  EACCES: "read-only",
  EPERM: "read-only",
  EROFS: "read-only",
};

/** Runs one step; the system's error becomes an InputError that names the path and the step. */
export function atStep<T>(path: string, step: WriteStep, onStep: OnWriteStep, action: () => T): T {
  try {
    onStep(step);
    return action();
  } catch (error) {
    throw stepError(path, step, error);
  }
}

/** The same for a step that waits for the disk. */
export async function atSlowStep<T>(
  path: string,
  step: WriteStep,
  onStep: OnWriteStep,
  action: () => Promise<T>,
): Promise<T> {
  try {
    onStep(step);
    return await action();
  } catch (error) {
    throw stepError(path, step, error);
  }
}

/** What is so after a step that failed late. */
const outcomes: Partial<Readonly<Record<WriteStep, string>>> = {
  "sync-folder": "the new model is in place",
  unlock: "what was written stays, and the next fix removes the lock",
};

/** Errors of the system are the surroundings' doing; anything else keeps what it is. */
function stepError(path: string, step: WriteStep, error: unknown): unknown {
  if (!(error instanceof Error && "code" in error && "syscall" in error)) return error;
  const reason = String(error.code);
  const outcome = outcomes[step] ?? "the original is unchanged";
  return new InputError(
    codes[reason] ?? "unwritable",
    `${path}: ${writeSteps[step]} failed (${reason}); ${outcome}`,
    { cause: error },
  );
}

/** Whether it is the system's error of this code, `ENOENT` for instance. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
