/** @file A failure as reports have it. */

/** What could not be linted, and why: what `message` says, with its parts where it has them. */
export interface ErrorReport {
  readonly code: string;
  readonly message: string;
  /** Null where no file is at fault: a flag is. */
  readonly file: string | null;
  readonly node: string | null;
  readonly found: string | null;
  readonly expected: string | null;
}
