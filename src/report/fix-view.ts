/** @file What formats show of a repair, done or not: the part of its report that they read. */
import type { ModelDiff } from "../fix/diff.ts";
import type { Proof } from "../fix/fix.ts";
import type { Measurement } from "../fix/measured.ts";
import { duration } from "../ir/format.ts";
import type { AccountStep, LintReport } from "../lint/result.ts";

export interface FixView {
  readonly path: string;
  readonly destination: string;
  readonly changed: boolean;
  readonly written: boolean;
  /** That ask for it; null where nothing could be repaired. */
  readonly flags?: readonly string[] | null;
  readonly microseconds: { readonly before: number; readonly after: number } | null;
  /** The same in the types that the file stores, where `microseconds` are of another precision and the types stay. */
  readonly stored?: { readonly before: number; readonly after: number } | null;
  readonly account: readonly AccountStep[] | null;
  /** Symbols that nobody bound, and the size at which each is priced. */
  readonly assumed: Readonly<Record<string, number>>;
  readonly notes: readonly { readonly pass: string; readonly kind: string; readonly message: string }[];
  readonly diff: ModelDiff | null;
  /** Null where nothing was proven: nothing changed, or nothing was written. */
  readonly proof?: Proof | null;
  /** What the changes were measured to gain on a GPU; null where nothing was measured. */
  readonly measurement?: Measurement | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** `in the types that it stores 209 µs → 191 µs`; undefined where that is no other figure. */
export function storedTimes({ stored }: Pick<FixView, "stored">): string | undefined {
  if (stored == null) return undefined;
  return `in the types that it stores ${duration(stored.before)} → ${duration(stored.after)}`;
}

export interface FixReportView {
  readonly tool: { readonly name: string; readonly version: string };
  readonly fixes: readonly FixView[];
  /** Of the repaired models; null where nothing was linted. */
  readonly lint?: LintReport | null;
}
