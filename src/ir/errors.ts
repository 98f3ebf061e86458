/** @file The two kinds of failure that are not findings. */

/** The input (a file, a flag, a configuration) is at fault: exit code 2, the message is all the user sees. */
export class InputError extends Error {
  override readonly name = "InputError";
  /** Stable kebab-case identifier, e.g. `truncated`, `lfs-pointer`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** States what must hold in our own code; a failure is a bug in tc-lint, not in the model. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`tc-lint bug: ${message}`);
}
