/** @file The repair of an open model, made and not yet put anywhere: what it needs, what the passes find, what it says of itself. */
import { invalidNode } from "../facts/invalid-node.ts";
import { InputError } from "../ir/errors.ts";
import { BlockSource } from "../onnx/block-source.ts";
import type { OpenModel } from "../onnx/read-model.ts";
import { weightFiles } from "../onnx/weights.ts";
import { openBatch } from "../passes/batch/batch.ts";
import type { ByteSource } from "../wire/source.ts";
import { checkFile } from "../workload/emptied.ts";
import { render } from "./edits.ts";
import type { Fix } from "./outcome.ts";
import { type FixedModel, type FixNote, type FixSettings, rebatched, sizedAs } from "./pipeline.ts";
import { priced } from "./prices.ts";
import { inTurn } from "./rounds.ts";
import { runStages } from "./stages.ts";
import { withUnstored } from "./unstored.ts";

const metadataKey = "tc-lint.fix";

/** Passes read small tensors by the thousand, and the nodes between them. */
export function inBlocks(file: ByteSource): ByteSource {
  return new BlockSource(file);
}

/** What the passes find. Throws InputError. */
export function runFix(original: OpenModel, asked: FixSettings): Fix {
  const made = rebatched(original, asked);
  const former = formerBatch(made, asked);
  const first =
    former === undefined ? made : { ...made, notes: made.notes.map((note) => pricedNote(note, former)) };
  const dims = former === undefined ? asked.dims : new Map([...(asked.dims ?? []), former]);
  const settings = withUnstored(first.model, { ...asked, dims });
  const staged = runStages(first.model, settings);
  return { ...staged, fixed: first.changed ? inTurn(first, staged.fixed) : staged.fixed };
}

/** The symbol of a batch that is opened, with the size that the file had, which it is decided at; undefined where another is bound. */
function formerBatch(
  { model, stacked }: FixedModel,
  { dims, shapes }: FixSettings,
): [string, number] | undefined {
  if (stacked === undefined || (shapes?.size ?? 0) > 0) return undefined;
  const symbol = openBatch(model);
  return symbol === undefined || dims?.has(symbol) === true ? undefined : [symbol, stacked.size];
}

function pricedNote(note: FixNote, [symbol, size]: readonly [string, number]): FixNote {
  if (note.kind !== "changed") return note;
  const where = `priced at ${symbol}=${size}, as it was (--dim ${symbol}=N: at another size)`;
  return { ...note, message: `${note.message}; ${where}` };
}

/** What linting calls broken is not repaired: nobody knows what it should compute, or it computes nothing. Throws InputError. */
export function checkNodes(model: OpenModel, settings: FixSettings): void {
  const { facts } = priced(model, sizedAs(model, settings));
  checkFile(facts);
  const error = invalidNode(facts);
  if (error !== null) throw new InputError(error.code, `${error.message}; it is not repaired`);
}

/** Without its weights a model cannot be repaired, and would be proven to be nothing. Throws InputError. */
export function checkWeights(model: OpenModel): void {
  const absent = weightFiles(model).find(({ present }) => !present);
  if (absent === undefined) return;
  throw new InputError(
    "weights-missing",
    `${model.path}: its weights are in "${absent.location}", which is not there; repairing it needs them`,
  );
}

/** What was done, and what is known of it, goes into the model's own metadata: in place only once it is true. */
export function signedAs(
  fixed: FixedModel,
  original: OpenModel,
  promise: string,
): Pick<FixedModel, "render"> {
  if (!fixed.changed) return fixed;
  const passes = [...new Set(fixed.notes.filter(({ kind }) => kind === "changed").map(({ pass }) => pass))];
  const done = `${passes.join(", ")}; ${promise}`;
  const metadata = new Map([[metadataKey, [...earlier(original), done].join(" | ")]]);
  return { render: (location) => render(fixed.model, location, metadata) };
}

function earlier(model: OpenModel): readonly string[] {
  const before = model.metadata.get(metadataKey);
  return before === undefined ? [] : [before];
}
