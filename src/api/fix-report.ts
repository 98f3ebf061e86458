/** @file What a repair did, as data: the JSON report of --fix and --diff (schemas/fix-report.schema.json). */

import type { ModelDiff } from "../fix/diff.ts";
import type { FixOutcome, Proof } from "../fix/fix.ts";
import type { InputError } from "../ir/errors.ts";
import { labelOf, operatorOf } from "../ir/model.ts";
import type { LintReport } from "../lint/result.ts";
import type { PassName, PassNote } from "../passes/pass.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { version } from "../version.ts";
import type { AccountStep } from "../workload/account.ts";

export interface FixReport {
  readonly version: 1;
  readonly tool: LintReport["tool"];
  /** In the order of the command line. */
  readonly fixes: readonly FixEntry[];
  /** Of the repaired models; null where nothing was linted: --fix-only, --diff, or no model left. */
  readonly lint: LintReport | null;
}

export interface FixEntry {
  readonly path: string;
  readonly destination: string;
  readonly changed: boolean;
  readonly written: boolean;
  /** That ask for it: `["--fix", "--layout", "nhwc"]`; null where nothing could be repaired. */
  readonly flags: readonly string[] | null;
  /** Null where nothing was proven: nothing changed, or nothing was written. */
  readonly proof: Proof | null;
  /** What half precision knew of the sizes of values; null without it. */
  readonly ranges: string | null;
  /** What the changes were measured to gain on a GPU (--prove); null where nothing was measured. */
  readonly measurement: FixOutcome["measurement"];
  /** Predicted, for one run, in `precision`: where the account begins and ends. */
  readonly microseconds: { readonly before: number; readonly after: number } | null;
  /** What `microseconds`, and those of notes, are computed in; `as-is`: in the types that the files store. Null where nothing was priced. */
  readonly precision: FixOutcome["precision"] | null;
  /** The file before and the file after, each in the types that it stores; null where nothing was priced. */
  readonly stored: FixOutcome["stored"] | null;
  /** Where it stands as exported and after each step that was taken; null where nothing was priced. */
  readonly account: readonly AccountStep[] | null;
  /** Symbols that nobody bound, and the size at which each is priced. */
  readonly assumed: Readonly<Record<string, number>>;
  readonly notes: readonly NoteEntry[];
  readonly diff: ModelDiff | null;
  /** Of the model file at the destination. */
  readonly bytes: number | null;
  /** External data written beside it. */
  readonly dataFiles: FixOutcome["dataFiles"];
  /** Data that a model repaired in place had, and has no more. */
  readonly unreferenced: FixOutcome["unreferenced"];
  /** The most general first. */
  readonly configFiles: readonly string[];
  readonly error: { readonly code: string; readonly message: string } | null;
}

export interface NoteEntry {
  readonly pass: PassName;
  /** Of what a rule still finds in the result: its code. */
  readonly rule: string | null;
  readonly kind: PassNote["kind"];
  readonly node: string | null;
  readonly op: string | null;
  /** The main graph, `graph`, or a body behind it: `graph/b1:Block`. */
  readonly graph: string | null;
  readonly message: string;
  readonly microseconds: number | null;
}

export function fixReportOf(fixes: readonly FixEntry[], lint: LintReport | undefined): FixReport {
  return { version: 1, tool: { name: "tc-lint", version }, fixes, lint: lint ?? null };
}

export function entryOf(
  outcome: FixOutcome,
  ranges: string | undefined,
  configFiles: readonly string[],
): FixEntry {
  const {
    path,
    destination,
    changed,
    written,
    flags,
    proof,
    measurement,
    account,
    stored,
    microseconds,
    precision,
    assumed,
    notes,
    diff,
    bytes,
    dataFiles,
    unreferenced,
  } = outcome;
  return {
    path,
    destination,
    changed,
    written,
    flags,
    proof,
    ranges: ranges ?? null,
    measurement,
    microseconds,
    precision,
    stored,
    account,
    assumed,
    notes: notes.map(({ pass, rule, kind, node, graph, message, microseconds: saved }) => ({
      pass,
      rule: rule ?? null,
      kind,
      node: node === undefined ? null : labelOf(node),
      op: node === undefined ? null : operatorOf(node),
      graph: node === undefined ? null : (graph ?? "graph"),
      message,
      microseconds: saved ?? null,
    })),
    diff,
    bytes,
    dataFiles,
    unreferenced,
    configFiles,
    error: null,
  };
}

export function failedEntry(
  { path, settings: { configFiles } }: LintPlan,
  destination: string,
  { code, message }: InputError,
): FixEntry {
  return {
    path,
    destination,
    changed: false,
    written: false,
    flags: null,
    proof: null,
    measurement: null,
    ranges: null,
    microseconds: null,
    precision: null,
    stored: null,
    account: null,
    assumed: {},
    notes: [],
    diff: null,
    bytes: null,
    dataFiles: [],
    unreferenced: [],
    configFiles,
    error: { code, message },
  };
}
