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
  readonly microseconds: { readonly before: number; readonly after: number } | null;
  /** What these are computed in; `as-is`: in the types that the files store. */
  readonly precision?: AccountStep["precision"] | null;
  /** The file before and the file after, each in the types that it stores. */
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

export interface Headline {
  /** Of what is written. */
  readonly before: number;
  readonly after: number;
  /** ` as stored`, where the steps are told in another precision, which the target computes in. */
  readonly stored: string;
  /** `in fp16 196 µs → 178 µs`: where these begin and end. */
  readonly inTarget: string | undefined;
}

/** What a repair comes to: as the file that is written stores it. */
export function headlineOf({
  microseconds,
  precision,
  stored,
}: Pick<FixView, "microseconds" | "precision" | "stored">): Headline | undefined {
  if (microseconds === null) return undefined;
  if (stored == null || precision == null || precision === "as-is")
    return { ...microseconds, stored: "", inTarget: undefined };
  const { before, after } = microseconds;
  return {
    ...stored,
    stored: " as stored",
    inTarget: `in ${precision} ${duration(before)} → ${duration(after)}`,
  };
}

/**
 * Of a repair that is predicted to make the file slower: it was asked for by name, or gains in what a setting of the stack computes in. One line for
 * stderr and reports; undefined of any other.
 */
export function slowerText({
  changed,
  microseconds,
  precision,
  stored,
}: Pick<FixView, "changed" | "microseconds" | "precision" | "stored">): string | undefined {
  if (!changed || stored == null || microseconds === null || precision == null) return undefined;
  if (!(stored.after > stored.before)) return undefined;
  const times = ({ before, after }: typeof stored) => [duration(before), duration(after)] as const;
  const [before, after] = times(stored);
  if (before === after) return undefined;
  if (precision === "as-is")
    return `predicted to be slower, ${before} → ${after}: what is asked for by name is done whatever it takes`;
  const inTarget = times(microseconds).join(" → ");
  return `predicted to be slower as stored, ${before} → ${after}: it gains where the stack computes in ${precision.toUpperCase()} (${inTarget}), as was asked`;
}

export interface FixReportView {
  readonly tool: { readonly name: string; readonly version: string };
  readonly fixes: readonly FixView[];
  /** Of the repaired models; null where nothing was linted. */
  readonly lint?: LintReport | null;
}
