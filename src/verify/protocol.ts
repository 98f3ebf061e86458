/** @file What the child process is sent, and what it answers. */
import type { VerifyOutcome, VerifyTask } from "./verify-here.ts";

export interface ChildRequest {
  readonly task: VerifyTask;
  /** Resident memory beyond which the child ends itself. */
  readonly memoryBytes: number;
}

export type ChildAnswer =
  | { readonly kind: "progress"; readonly what: string }
  | { readonly kind: "done"; readonly outcome: VerifyOutcome }
  /** Without a code, it is a bug of ours, and the message is its stack. */
  | { readonly kind: "failed"; readonly code: string | undefined; readonly message: string };

/** How the child says that it used too much memory: nothing else sends this signal. */
export const memorySignal = "SIGUSR2";
