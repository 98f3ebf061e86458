/** @file What the child process is sent, and what it answers. */
import type { DecodeReference, DecodeTask } from "./decode/decode-here.ts";
import type { RangesTask } from "./ranges-here.ts";
import type { Reference, ReferenceTask } from "./reference-here.ts";
import type { VerifyOutcome, VerifyTask } from "./verify-here.ts";

export type Work =
  | { readonly kind: "compare"; readonly task: VerifyTask }
  | { readonly kind: "observe"; readonly task: RangesTask }
  | { readonly kind: "reference"; readonly task: ReferenceTask }
  | { readonly kind: "decode"; readonly task: DecodeTask };

export interface ChildRequest {
  readonly work: Work;
  /** Resident memory beyond which the child ends itself. */
  readonly memoryBytes: number;
}

/** What comes of the work. */
export type ChildResult =
  | { readonly kind: "compared"; readonly outcome: VerifyOutcome }
  | { readonly kind: "observed"; readonly ranges: ReadonlyMap<string, number> }
  | { readonly kind: "referenced"; readonly reference: Reference }
  | { readonly kind: "decoded"; readonly decoded: DecodeReference };

export type ChildAnswer =
  | ChildResult
  | { readonly kind: "progress"; readonly what: string }
  /** Without a code, it is a bug of ours, and the message is its stack. */
  | { readonly kind: "failed"; readonly code: string | undefined; readonly message: string };

/** What is said to be done where ONNX Runtime is known to end its process. */
export const doings = {
  originalEmpty: "the original without samples",
  originalFused: "the original with all optimizations",
  candidate: "the candidate",
} as const;
