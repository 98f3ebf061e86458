/** @file What is told of a repair: what changed, what it saves, what was left and why. */
import { openSymbols } from "../ir/assumed.ts";
import { labelOf } from "../ir/model.ts";
import type { Otherwise } from "../ir/otherwise.ts";
import type { OpenModel } from "../onnx/open.ts";
import { productOf } from "../passes/align/parts.ts";
import { type AccountStep, accountOf } from "../workload/account.ts";
import { pricedAt } from "../workload/priced-at.ts";
import { pricedSizes, type Workload } from "../workload/workload.ts";
import type { LeftPiece } from "./bisect.ts";
import { diffModels, type ModelDiff } from "./diff.ts";
import { withGiven } from "./given.ts";
import type { Measurement } from "./measured.ts";
import { paddedOnce } from "./padded-once.ts";
import { changesTypes, type FixedModel, type FixNote, type FixSettings } from "./pipeline.ts";
import { priced } from "./prices.ts";
import { remainderNotes } from "./remainder.ts";
import { savedBy } from "./saved.ts";
import type { Staged } from "./stages.ts";
import type { UnreferencedFile } from "./unreferenced.ts";

/** What is known of the result being the same function. */
export type Proof =
  | {
      readonly kind: "verified";
      readonly summary: string;
      /** Elements of outputs that half precision decides otherwise, by output: more than these would have been refused. */
      readonly otherwise: readonly Otherwise[];
    }
  | { readonly kind: "unverified"; readonly summary: string };

export interface FixOutcome {
  readonly path: string;
  readonly destination: string;
  readonly changed: boolean;
  readonly written: boolean;
  /** That ask for it: `["--fix", "--layout", "nhwc"]`. */
  readonly flags: readonly string[];
  readonly notes: readonly FixNote[];
  readonly diff: ModelDiff;
  /** Where the model stands before and after each step that was taken. */
  readonly account: readonly AccountStep[];
  /** Of the account, in `precision`: where the repair begins, and where it ends. */
  readonly microseconds: { readonly before: number; readonly after: number };
  /** What `microseconds` are computed in: what the target was asked for, or `as-is` for the types that both files store. */
  readonly precision: AccountStep["precision"];
  /** The file before and the file after, each in the types that it stores: what the repair comes to. */
  readonly stored: { readonly before: number; readonly after: number };
  /** Symbols that nobody bound, and that do not follow from those that somebody did, with the size at which each is priced. */
  readonly assumed: Readonly<Record<string, number>>;
  readonly proof: Proof | null;
  /** What the changes were measured to gain, with --prove; null without it, or where nothing was to be changed. */
  readonly measurement: Measurement | null;
  readonly bytes: number;
  /** Data files that were written beside the model; not those that were there already. */
  readonly dataFiles: readonly DataFileEntry[];
  /** Of a model that was repaired in place: data that it had, and has no more. */
  readonly unreferenced: readonly UnreferencedFile[];
}

export interface DataFileEntry {
  readonly path: string;
  readonly bytes: number;
}

/** What passes made of the model. */
export type Fix = Staged;

export interface JudgedFix extends Fix {
  /** What is not in it, because the result was another function with it. */
  readonly left: readonly LeftPiece[];
  /** What is not in it because it was measured to gain nothing. */
  readonly reverted: readonly LeftPiece[];
  readonly measurement: Measurement | null;
}

/** What became of it on the disk. */
export type Placed = Pick<FixOutcome, "written" | "proof" | "bytes" | "dataFiles" | "unreferenced">;

export function outcomeOf(
  { path, destination }: Pick<FixOutcome, "path" | "destination">,
  original: OpenModel,
  fix: JudgedFix,
): Omit<FixOutcome, keyof Placed> {
  const { fixed, padded, states, settings, left, reverted, measurement } = fix;
  const saved = savedBy(fix);
  const [start] = states;
  const flags = settings.flags ?? ["--fix"];
  const account = withGiven(accountOf(states, settings.cost), flags);
  return {
    path,
    destination,
    changed: fixed.changed,
    flags,
    notes: [
      ...paddedOnce(
        fixed.notes.map((note) =>
          note.kind === "changed" ? { ...note, microseconds: saved.get(note) } : note,
        ),
      ),
      ...failedNotes(left, original),
      ...remainderNotes(padded, settings, [...left, ...reverted], { ...fix, original }),
    ],
    diff: diffModels(original, fixed.model),
    account,
    microseconds: {
      before: startOf(account, settings).microseconds,
      after: account.at(-1)?.microseconds ?? 0,
    },
    ...storedOf(account, fixed, settings),
    assumed: start === undefined ? {} : assumedOf(start.workload),
    measurement,
  };
}

/** Where the account is of the types that are stored, or the repair changes them, it tells it all. */
function storedOf(
  account: readonly AccountStep[],
  { model, changed }: FixedModel,
  settings: FixSettings,
): Pick<FixOutcome, "precision" | "stored"> {
  const inTarget = account.find(({ step }) => step === "precision");
  const before = account[0]?.microseconds ?? 0;
  // Where half was asked for, the account begins and ends with stored types, whether or not it was made.
  if (inTarget === undefined || changesTypes(settings))
    return { precision: "as-is", stored: { before, after: account.at(-1)?.microseconds ?? 0 } };
  const { precision } = inTarget;
  if (!changed) return { precision, stored: { before, after: before } };
  const after = pricedAt(priced(model, settings), "as-is", settings.cost);
  return { precision, stored: { before, after: after.timeline.microseconds } };
}

function assumedOf(workload: Workload): FixOutcome["assumed"] {
  const { symbols, assumed } = pricedSizes(workload);
  return Object.fromEntries(openSymbols(assumed, symbols).map((name) => [name, symbols[name] ?? 1]));
}

/** Where a repair begins: with the file as it is where it changes types, else with what the target makes of that. */
function startOf(account: readonly AccountStep[], settings: FixSettings): { readonly microseconds: number } {
  const inPrecision = account.find(({ step }) => step === "precision");
  return (changesTypes(settings) ? undefined : inPrecision) ?? account[0] ?? { microseconds: 0 };
}

function failedNotes(left: readonly LeftPiece[], { graph }: OpenModel): FixNote[] {
  const nodes = new Map(graph.nodes.map((node) => [labelOf(node), node]));
  return left.map(({ pass, part, reason, isDecision }) => {
    const what = part === undefined ? "" : ` of "${part}"`;
    const node = part === undefined ? undefined : (nodes.get(part) ?? nodes.get(productOf(part)));
    return {
      kind: "failed",
      pass,
      node,
      ...(isDecision && { isDecision }),
      message: `${pass}${what} failed verification and is left out: ${reason}`,
    };
  });
}
