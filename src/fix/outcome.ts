/** @file What is told of a repair: what changed, what it saves, what was left and why. */
import { labelOf } from "../ir/model.ts";
import type { OpenModel } from "../onnx/open.ts";
import { priceFacts } from "../workload/workload.ts";
import type { LeftPiece } from "./bisect.ts";
import { diffModels, type ModelDiff } from "./diff.ts";
import { asStored, type FixedModel, type FixNote, type FixSettings, priced } from "./pipeline.ts";
import { remainderNotes } from "./remainder.ts";

/** What is known of the result being the same function. */
export type Proof =
  | { readonly kind: "verified"; readonly summary: string }
  | { readonly kind: "unverified"; readonly summary: string };

export interface FixOutcome {
  readonly path: string;
  readonly destination: string;
  readonly changed: boolean;
  readonly written: boolean;
  readonly notes: readonly FixNote[];
  readonly diff: ModelDiff;
  readonly microseconds: { readonly before: number; readonly after: number };
  /** Symbols that nobody bound, and the size at which each is priced. */
  readonly assumed: Readonly<Record<string, number>>;
  readonly proof: Proof | null;
  readonly bytes: number;
  /** Data files that were written beside the model; not those that were there already. */
  readonly dataFiles: readonly DataFileEntry[];
}

export interface DataFileEntry {
  readonly path: string;
  readonly bytes: number;
}

/** What passes made of the model under some settings. */
export interface Fix {
  readonly settings: FixSettings;
  readonly fixed: FixedModel;
}

/** With what is not in it, because the result was another function with it. */
export type JudgedFix = Fix & { readonly left: readonly LeftPiece[] };

/** What became of it on the disk. */
export type Placed = Pick<FixOutcome, "written" | "proof" | "bytes" | "dataFiles">;

/** The predicted time of a model in the types that the report counts in, and the sizes that it holds for. */
export interface Price {
  readonly microseconds: number;
  readonly assumed: FixOutcome["assumed"];
}

export function priceOf(model: OpenModel, settings: FixSettings): Price {
  const workload = priced(model, settings);
  // Shapes and sizes are the same at any precision.
  const { timeline, facts, bindings } = changesTypes(settings)
    ? priceFacts(workload.facts, asStored(settings))
    : workload;
  const assumed = Object.fromEntries([...facts.symbols].map((name) => [name, bindings.get(name) ?? 1]));
  return { microseconds: timeline.microseconds, assumed };
}

export function outcomeOf(
  { path, destination }: Pick<FixOutcome, "path" | "destination">,
  original: OpenModel,
  before: Price,
  { fixed, settings, left }: JudgedFix,
): Omit<FixOutcome, keyof Placed> {
  const after = priced(fixed.model, settings);
  return {
    path,
    destination,
    changed: fixed.changed,
    notes: [...fixed.notes, ...failedNotes(left, original), ...remainderNotes(after, settings, left)],
    diff: diffModels(original, fixed.model),
    microseconds: {
      before: before.microseconds,
      after: priceOf(fixed.model, settings).microseconds,
    },
    assumed: before.assumed,
  };
}

/** Seen at the precision that it is brought to, a model is as fast before as after. */
function changesTypes({ passes }: FixSettings): boolean {
  return passes.some(({ name }) => name === "half");
}

function failedNotes(left: readonly LeftPiece[], { graph }: OpenModel): FixNote[] {
  const nodes = new Map(graph.nodes.map((node) => [labelOf(node), node]));
  return left.map(({ pass, part, reason }) => {
    const what = part === undefined ? "" : ` of "${part}"`;
    const node =
      part === undefined ? undefined : (nodes.get(part) ?? nodes.get(part.replace(/: \d+( \(\d+\))?$/, "")));
    return {
      kind: "failed",
      pass,
      node,
      message: `${pass}${what} failed verification and is left out: ${reason}`,
    };
  });
}
