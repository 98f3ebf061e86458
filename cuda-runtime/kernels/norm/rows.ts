/** @file Work on rows that stay in registers: which form of a kernel takes them. Normalizations and softmax share it. */

import { type Candidate, cheapest } from "../../cost/candidate.ts";
import { bytesMoved, passMicroseconds } from "../../cost/predict.ts";
import type { Dim3, PlanTarget } from "../../ir/step.ts";
import type { FloatStorage } from "../../ir/storage.ts";
import { alignmentOf, type View } from "../../ir/view.ts";

/** Elements of one access: 8 where everything is aligned to 16 bytes, else 1. */
export type RowWidth = 8 | 1;

interface FormRow {
  readonly name: string;
  /** Threads of a row: one warp, or a block of at most this many; `chunks` times 8 elements each. */
  readonly threads: "warp" | number;
  readonly chunks: number;
  readonly widths: readonly RowWidth[];
}

/** Time over memory against a plain pass: a row is loaded, reduced and stored one after the other. */
const passes = { 8: 1.4, 1: 3, long: 4.2 } as const;
/** What a row costs a multiprocessor beside its bytes. Like the passes from bench/results/gpu-norm-fp16.json. */
const rowClocks = 30;
/** More where bytes are too few to hide one row's loads behind another's stores: half of it from `fewBytes` on. */
const waitMicroseconds = 1.2;
const fewBytes = 1.5e6;

/** The entries of norm.cu and softmax.cu, `family_type_wWIDTH_NAME`. `long` takes rows of any length. */
const forms: readonly FormRow[] = [
  { name: "warp1", threads: "warp", chunks: 1, widths: [8, 1] },
  { name: "warp2", threads: "warp", chunks: 2, widths: [8] },
  { name: "warp4", threads: "warp", chunks: 4, widths: [8] },
  { name: "block1", threads: 1024, chunks: 1, widths: [8, 1] },
  { name: "block4", threads: 384, chunks: 4, widths: [8] },
];

const warpRows = 8;
const longThreads = 1024;
/** A chunk is as many elements as one 8-wide access. */
const chunkElements = 8;

export interface RowLaunch {
  readonly entry: string;
  readonly grid: Dim3;
  readonly block: Dim3;
  readonly detail: string;
}

export const typeNames: Readonly<Record<FloatStorage, string>> = {
  float32: "f32",
  float16: "f16",
  bfloat16: "bf16",
};

interface Rows {
  readonly rows: number;
  readonly cols: number;
  readonly width: RowWidth;
}

/**
 * Every form that holds such rows, the best suited first: the model knows no other difference between them than whether rows
 * stay in registers. `rows` and `cols` at least 1; `views` are read or written.
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

/** Of `rowCandidates`. */
export function chooseRows(...wanted: Parameters<typeof rowCandidates>): Candidate<RowLaunch> {
  const best = cheapest(rowCandidates(...wanted));
  if (best === undefined) throw new Error("tc-lint bug: no kernel takes these rows");
  return best;
}

function launchOf(
  kernel: string,
  type: FloatStorage,
  { rows, cols, width }: Rows,
  form: FormRow | undefined,
  target: PlanTarget,
): RowLaunch {
  const entry = `${kernel}_${typeNames[type]}_w${width}_${form?.name ?? "long"}`;
  const detail = `${rows}x${cols}`;
  if (form === undefined) return { entry, grid: [rows, 1, 1], block: [longThreads, 1, 1], detail };
  if (form.threads !== "warp") {
    const threads = 32 * Math.ceil(cols / (form.chunks * chunkElements) / 32);
    return { entry, grid: [rows, 1, 1], block: [threads, 1, 1], detail };
  }
  // Few rows are spread over more multiprocessors.
  const inBlock = rows <= 2 * target.multiprocessors ? 1 : rows <= 8 * target.multiprocessors ? 4 : warpRows;
  return { entry, grid: [Math.ceil(rows / inBlock), 1, 1], block: [32, inBlock, 1], detail };
}

function rowMicroseconds(
  { rows, width }: Rows,
  form: FormRow | undefined,
  bytes: number,
  target: PlanTarget,
): number {
  const pass = passMicroseconds({ bytes, passes: passes[form === undefined ? "long" : width] }, target);
  const clocks = (rows / target.multiprocessors) * rowClocks;
  const wait = (waitMicroseconds * bytes) / (bytes + fewBytes);
  return pass + clocks / target.clocksPerMicrosecond + wait;
}

/**
 * Those that hold the row, first the one that leaves the fewest bytes in flight unasked for: many rows take few threads with
 * many elements each, few rows many threads.
 */
function formsFor({ rows, cols, width }: Rows, target: PlanTarget): readonly FormRow[] {
  const fitting = forms.filter((form) => {
    const threads = form.threads === "warp" ? 32 : form.threads;
    return form.widths.includes(width) && cols <= threads * form.chunks * chunkElements;
  });
  const isFew = rows <= 2 * target.multiprocessors;
  const warps = fitting.filter(({ threads }) => threads === "warp");
  const blocks = fitting.filter(({ threads }) => threads !== "warp");
  const [first] = warps;
  if (first !== undefined && (!isFew || first.chunks === 1)) return [...warps, ...blocks];
  return [...(isFew ? blocks : blocks.toReversed()), ...warps];
}

/** `views` are [rows, cols] with contiguous columns. */
export function widthOf(cols: number, views: readonly (View | undefined)[]): RowWidth {
  const isAligned = views.every((view) => view === undefined || alignmentOf(view) === 16);
  return cols % chunkElements === 0 && isAligned ? 8 : 1;
}
