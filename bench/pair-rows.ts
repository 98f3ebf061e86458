/** @file Rows of bench/gpu/pairs.py, and which of them repeat a shape that the cost model was fitted on. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { linesOf, type Sample, tables } from "../scripts/fit/data.ts";
import { extraSample } from "../scripts/fit/extra.ts";

export interface MeasuredSide {
  /** Its kernels, as the cost model sees them. */
  readonly samples: readonly Sample[];
  readonly microseconds: number;
  /** (largest − smallest) / median of its replays. */
  readonly spread: number;
}

export interface MeasuredPair {
  readonly kind: string;
  readonly part: string;
  readonly before: MeasuredSide;
  readonly after: MeasuredSide;
  /** The call before, in the words of the file. */
  readonly text: string;
}

export interface PairFile {
  /** Id of the GPU's row. */
  readonly gpu: string;
  readonly made: string;
  readonly pairs: readonly MeasuredPair[];
}

interface SideRow {
  readonly call: readonly unknown[];
  readonly rows: readonly (readonly [string, ...unknown[]])[];
  readonly us: number;
  readonly spread: number;
}

interface PairRow {
  readonly kind: string;
  readonly part: string;
  readonly before: SideRow;
  readonly after: SideRow;
}

interface Meta {
  readonly gpu: string;
  readonly target: string;
  readonly torch: string;
  readonly date: string;
  readonly seed: number;
  readonly timing: string;
}

export function readPairs(file: string): PairFile {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  const [first, ...rest]: unknown[] = lines.map((line): unknown => JSON.parse(line));
  const { meta } = (first ?? {}) as { readonly meta?: Meta };
  if (meta === undefined) throw new Error(`${file}: the first line has no "meta"`);
  const made = `${meta.gpu}, PyTorch ${meta.torch}, ${meta.date}, seed ${meta.seed}: ${meta.timing}`;
  return { gpu: meta.target, made, pairs: (rest as PairRow[]).map(pairOf) };
}

function pairOf({ kind, part, before, after }: PairRow): MeasuredPair {
  return { kind, part, before: sideOf(before), after: sideOf(after), text: before.call.join(" ") };
}

function sideOf({ rows, us, spread }: SideRow): MeasuredSide {
  const samples = rows.map(([family, ...columns]) => extraSample(family, [...columns, us]));
  return { samples, microseconds: us, spread };
}

const measurements = "bench/measurements";
const shared = "../shared/measurements";

/** Shapes of every row that a fit may read; the second is whether the shared ones were there. */
export function fittedShapes(): { readonly shapes: ReadonlySet<string>; readonly hasShared: boolean } {
  const hasShared = existsSync(shared);
  const ofShared = hasShared ? filesOf(shared, ".json").flatMap((file) => tables(file, "rows")) : [];
  const ofOwn = filesOf(measurements, ".jsonl").flatMap(linesOf);
  return { shapes: new Set([...ofShared, ...ofOwn].map(shapeOf)), hasShared };
}

function filesOf(folder: string, extension: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(extension))
    .map((name) => path.join(folder, name));
}

/** Whether fits read the very file. */
export function isFitFile(file: string): boolean {
  return path.dirname(path.resolve(file)) === path.resolve(measurements);
}

/** Of its products, or of its one pass over memory: passes beside products have no shape of their own. */
export function isFitted({ before, after }: MeasuredPair, shapes: ReadonlySet<string>): boolean {
  return [before, after].some(({ samples }) => {
    const products = samples.filter(({ work }) => work.kind !== "traffic");
    return (products.length > 0 ? products : samples).some((sample) => shapes.has(shapeOf(sample)));
  });
}

/** Sizes alone: a shape in another number format, layout or order of operands is the same shape. */
function shapeOf({ work, variant }: Sample): string {
  const sizes = Object.entries(work).filter(
    ([name]) => !["dtype", "layout", "transA", "transB", "bytesRead", "bytesWritten"].includes(name),
  );
  return JSON.stringify([sizes, variant]);
}
