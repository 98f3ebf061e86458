/** @file Work on rows that stay in registers: which form of a kernel takes them. Normalizations and softmax share it. */

import { type Candidate, cheapest } from "../../cost/candidate.ts";
import { bytesMoved, passMicroseconds } from "../../cost/predict.ts";
import type { Dim3, PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type FloatStorage } from "../../ir/storage.ts";
import { alignmentOf, type View } from "../../ir/view.ts";

/**
 * How rows are cut into accesses: w8, of eight elements, every row at a multiple of 16 bytes; p8, the same, where packed rows start
 * anywhere; w1, one by one.
 */
export type RowCut = "w8" | "p8" | "w1";

interface FormRow {
  readonly name: string;
  /** Threads of a row: so many lanes of a warp, or a block of at most this many; `chunks` times 8 elements each. */
  readonly threads: { readonly lanes: number } | { readonly block: number };
  readonly chunks: number;
  readonly cuts: readonly RowCut[];
}

/** Time over memory against a plain pass: of p8, elements are sorted; of w1, every access is short. */
const passes = { w8: 1, p8: 1.7, w1: 4.6 } as const;
const longPasses = { w8: 1.1, p8: 1.1, w1: 5.1 } as const;
/**
 * What a warp that has rows costs a multiprocessor beside its bytes, or a block, and each warp
 * of it; a row's barriers, which only other blocks hide, are waited for once more at the end. Like all these from
 * bench/measurements/h100-norm-ways.jsonl.
 */
const warpClocks = 42;
const blockClocks = { each: 160, ofWarp: 20, barriers: 500 } as const;
/** A thread's chunks are converted, reduced and stored one after another: of each but the first. */
const chunkClocks = 630;
/** More where bytes are too few to hide one row's loads behind another's stores: half of it from `fewBytes` on. */
const waitMicroseconds = 0.5;
const fewBytes = 1.5e6;
/** What of a pass over memory only other blocks of a multiprocessor hide, by the threads that its registers hold. */
const blockShare = 0.55;
const threadsInFlight = 1024;

/** The entries of norm.cu and softmax.cu, `family_type_CUT_NAME`. `long` takes rows of any length. */
const forms: readonly FormRow[] = [
  { name: "lanes4", threads: { lanes: 4 }, chunks: 4, cuts: ["w8"] },
  { name: "lanes16", threads: { lanes: 16 }, chunks: 2, cuts: ["w8", "p8"] },
  { name: "warp1", threads: { lanes: 32 }, chunks: 1, cuts: ["w8", "w1"] },
  { name: "half1", threads: { lanes: 16 }, chunks: 1, cuts: ["w8"] },
  { name: "warp2", threads: { lanes: 32 }, chunks: 2, cuts: ["w8", "p8"] },
  { name: "warp4", threads: { lanes: 32 }, chunks: 4, cuts: ["w8"] },
  { name: "block1", threads: { block: 1024 }, chunks: 1, cuts: ["w8", "p8", "w1"] },
  { name: "block4", threads: { block: 384 }, chunks: 4, cuts: ["w8", "p8"] },
];

const blockWarps = 8;
/** Below, a row is hardly more than the two accesses at its ends. */
const fewestPhased = 64;
const longThreads = 1024;
/** A chunk is as many elements as one 8-wide access. */
const chunkElements = 8;

export interface RowLaunch {
  readonly entry: string;
  readonly grid: Dim3;
  readonly block: Dim3;
  /** Dynamic shared memory. */
  readonly sharedBytes: number;
  readonly detail: string;
}

export const typeNames: Readonly<Record<FloatStorage, string>> = {
  float32: "f32",
  float16: "f16",
  bfloat16: "bf16",
};

export interface Rows {
  readonly rows: number;
  readonly cols: number;
  readonly cut: RowCut;
}

/**
 * Every form that holds such rows, the best suited first where several are predicted the same. `rows` and `cols` at least 1; `views` are read or written.
 */
function rowCandidates(
  kernel: string,
  type: FloatStorage,
  rows: Rows,
  views: readonly View[],
  target: PlanTarget,
): Candidate<RowLaunch>[] {
  const bytes = bytesMoved(views);
  return [...formsFor(rows, target), undefined].map((form) => ({
    launch: launchOf(kernel, type, rows, form, target),
    microseconds: rowMicroseconds(rows, form, bytes, target),
  }));
}

export interface RowChoices {
  /** Kernels of the family's own. */
  readonly others?: readonly Candidate<RowLaunch>[];
  /** Which launches may be taken, for those who time them; all unless given. */
  readonly accepts?: ((launch: RowLaunch) => boolean) | undefined;
}

/** Of `rowCandidates` and the family's own. */
export function chooseRows(
  kernel: string,
  type: FloatStorage,
  rows: Rows,
  views: readonly View[],
  target: PlanTarget,
  { others = [], accepts = () => true }: RowChoices = {},
): Candidate<RowLaunch> {
  const all = [...rowCandidates(kernel, type, rows, views, target), ...others];
  const best = cheapest(all.filter(({ launch }) => accepts(launch)));
  if (best === undefined) throw new Error("tc-lint bug: no kernel takes these rows");
  return best;
}

function launchOf(
  kernel: string,
  type: FloatStorage,
  { rows, cols, cut }: Rows,
  form: FormRow | undefined,
  target: PlanTarget,
): RowLaunch {
  const entry = `${kernel}_${typeNames[type]}_${cut}_${form?.name ?? "long"}`;
  const detail = `${rows}x${cols}`;
  const common = { entry, sharedBytes: 0, detail };
  if (form === undefined) return { ...common, grid: [rows, 1, 1], block: [longThreads, 1, 1] };
  if ("block" in form.threads) {
    return { ...common, grid: [rows, 1, 1], block: [threadsOf(form, cols, cut), 1, 1] };
  }
  const warps = Math.ceil((rows * form.threads.lanes) / 32);
  // Few rows are spread over more multiprocessors.
  const inBlock =
    warps <= 2 * target.multiprocessors ? 1 : warps <= 8 * target.multiprocessors ? 4 : blockWarps;
  return { ...common, grid: [Math.ceil(warps / inBlock), 1, 1], block: [32, inBlock, 1] };
}

function rowMicroseconds(
  { rows, cols, cut }: Rows,
  form: FormRow | undefined,
  bytes: number,
  target: PlanTarget,
): number {
  const ofMultiprocessor = rows / target.multiprocessors;
  const isBlock = form === undefined || "block" in form.threads;
  const threads = form === undefined ? longThreads : threadsOf(form, cols, cut);
  const ofBlock = blockClocks.each + (blockClocks.ofWarp * threads) / 32;
  const issued = ofMultiprocessor * (isBlock ? ofBlock : (warpClocks * threads) / 32);
  const waited = chunkClocks * ((form?.chunks ?? 1) - 1) + (isBlock ? blockClocks.barriers : 0);
  const clocks = issued + waited;
  const inFlight = Math.max(1, Math.floor(threadsInFlight / threads));
  const own = (form === undefined ? longPasses : passes)[cut] + (isBlock ? blockShare / inFlight : 0);
  return (
    passMicroseconds({ bytes, passes: own }, target) + clocks / target.clocksPerMicrosecond + rowWait(bytes)
  );
}

/** Of a row. */
function threadsOf({ threads, chunks }: FormRow, cols: number, cut: RowCut): number {
  return "lanes" in threads
    ? threads.lanes
    : 32 * Math.ceil((cols + slackOf(cut)) / (chunks * chunkElements) / 32);
}

/** Microseconds that nothing hides of a row's loads, reductions and stores. */
export function rowWait(bytes: number): number {
  return (waitMicroseconds * bytes) / (bytes + fewBytes);
}

function isFew(rows: number, { multiprocessors }: PlanTarget): boolean {
  return rows <= 2 * multiprocessors;
}

/** Elements that a row's accesses may hold beside its own. */
export function slackOf(cut: RowCut): number {
  return cut === "p8" ? chunkElements - 1 : 0;
}

/**
 * Those that hold the row, first the one that leaves the fewest bytes in flight unasked for: many rows take few threads with
 * many elements each, few rows many threads.
 */
function formsFor({ rows, cols, cut }: Rows, target: PlanTarget): readonly FormRow[] {
  const fitting = forms.filter((form) => {
    const threads = "lanes" in form.threads ? form.threads.lanes : form.threads.block;
    return form.cuts.includes(cut) && cols + slackOf(cut) <= threads * form.chunks * chunkElements;
  });
  const lanes = fitting.filter(({ threads }) => "lanes" in threads);
  const blocks = fitting.filter(({ threads }) => "block" in threads);
  if (!isFew(rows, target)) return lanes.length > 0 ? [...lanes, ...blocks] : blocks.toReversed();
  const single = lanes.filter(({ chunks }) => chunks === 1);
  return [...single, ...blocks, ...lanes];
}

/** `views` are [rows, cols] with contiguous columns; `shared` are one row for all. */
export function cutOf(
  cols: number,
  views: readonly (View | undefined)[],
  shared: readonly (View | undefined)[] = [],
): RowCut {
  const given = views.filter((view) => view !== undefined);
  const all = [...given, ...shared.filter((view) => view !== undefined)];
  if (cols % chunkElements === 0 && all.every((view) => alignmentOf(view) === 16)) return "w8";
  return arePacked(cols, given) && cols >= fewestPhased ? "p8" : "w1";
}

/** Whether rows follow each other without gaps from a multiple of 16 bytes on, in all views alike. */
export function arePacked(cols: number, views: readonly View[]): boolean {
  const [first] = views;
  return views.every(
    ({ shape: [rows = 1], strides: [stride = 0], offset, type }) =>
      type === first?.type &&
      rows === first.shape[0] &&
      (rows === 1 || stride === cols) &&
      (offset * bytesOfType(type)) % 16 === 0,
  );
}
