/**
 * @file `--fix` over the zoo: is it the same function, what did it change, what remains.
 *
 *   node scripts/build.mjs --no-types && node scripts/run.mjs bench/fix-zoo.ts [--models a,b] [--mode safe|half|nhwc] [--out FILE]
 *
 * Each model gets its weights in a temporary folder, is fixed there through the passes, verified by ONNX Runtime in a
 * child process, fixed again (which must change nothing), and removed.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { createCostModel } from "../src/cost/model.ts";
import { fixModel } from "../src/fix/fix.ts";
import type { FixSettings } from "../src/fix/pipeline.ts";
import { findGpu } from "../src/hardware/gpus.ts";
import { stacks } from "../src/hardware/stacks.ts";
import type { Model, Node } from "../src/ir/model.ts";
import { buildContext } from "../src/lint/run.ts";
import { openModel } from "../src/onnx/open.ts";
import { flopsOf } from "../src/ops/work.ts";
import { align } from "../src/passes/align/align.ts";
import { channelsLast } from "../src/passes/channels-last/channels-last.ts";
import { fold } from "../src/passes/fold/fold.ts";
import { half } from "../src/passes/half/half.ts";
import type { Pass } from "../src/passes/pass.ts";
import { budgets, compareModels } from "../src/verify/index.ts";
import { contiguousAxes, type Recovery, recoveryOf } from "./fix-recovery.ts";

const modes = { safe: [fold, align], half: [fold, align, half], nhwc: [fold, align, channelsLast] } as const;
type Mode = keyof typeof modes;

const { values: options } = parseArgs({
  options: {
    models: { type: "string" },
    mode: { type: "string", default: "safe" },
    out: { type: "string" },
    "skip-larger-than-mb": { type: "string", default: "100000" },
  },
});
const mode = options.mode as Mode;
const zoo = resolve("..", "shared", "zoo");
const names =
  options.models?.split(",") ?? readdirSync(zoo).flatMap((file) => file.match(/^(.*)\.onnx$/)?.[1] ?? []);
const gpu = findGpu("h200");
if (gpu === undefined || !(mode in modes))
  throw new Error(`--mode is one of ${Object.keys(modes).join(", ")}`);
const passes: readonly Pass[] = modes[mode];
const settings: FixSettings = {
  target: { gpu, stack: stacks.cudnn, precision: "fp16" },
  cost: createCostModel(),
  passes,
  minSaving: 0.005,
  options: { halfType: "float16", halfIo: false, ranges: undefined, nhwcIo: false, nhwcForm: "portable" },
};
const budget = mode === "half" ? budgets.float16 : budgets.folding;
const promise = "verified with ONNX Runtime";
/** What may stand between an edge of the graph and the Pad or Slice at it: other passes put it there. */
const edgeOps = new Set(["Cast", "Transpose"]);
const rows: Row[] = [];

interface Row {
  readonly model: string;
  readonly result: string;
  readonly error?: number;
  readonly misalignedBefore?: number;
  readonly misalignedAfter?: number;
  readonly microsecondsBefore?: number;
  readonly microsecondsAfter?: number;
  readonly nodesAdded?: number;
  readonly innerPads?: number;
  readonly parametersAdded?: number;
  readonly recovery?: Recovery;
  readonly secondTime?: string;
  readonly reasons?: readonly string[];
}

console.log(
  "model                      result      rel. error   misaligned     predicted µs    nodes  inner Pad/Slice  recovered  second time",
);
for (const name of names) {
  const row = await one(name);
  rows.push(row);
  print(row);
  if (options.out !== undefined) save(options.out);
}
printTotals();

async function one(name: string): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), "tc-lint-fix-"));
  try {
    spawnSync(process.execPath, [join(zoo, "materialize.mjs"), folder, name], { stdio: "ignore" });
    return await fixIn(folder, name);
  } catch (error) {
    return {
      model: name,
      result: `failed: ${error instanceof Error ? error.message.replaceAll(folder, "") : error}`,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fixIn(folder: string, name: string): Promise<Row> {
  const path = join(folder, `${name}.onnx`);
  const destination = join(folder, `${name}.fixed.onnx`);
  let error = 0;
  const verify = async (original: string, candidate: string) => {
    const { report } = await compareModels(original, candidate, {
      childUrl: pathToFileURL(resolve("dist/verify-child.js")),
      budget,
    });
    const relative = report.outputs.map(({ difference }) => {
      const { maximumError = 0, largest = 0 } = difference ?? {};
      return largest > 0 ? maximumError / largest : maximumError;
    });
    error = Math.max(0, ...relative);
    if (!report.same)
      throw new Error(`differs: ${report.problems.join("; ")} relative error ${error.toExponential(1)}`);
    return { kind: "verified" as const, summary: "" };
  };
  const outcome = await fixModel({ path, destination, settings, dryRun: false, promise, verify });
  const again = await fixModel({ path: destination, destination, settings, dryRun: true, promise, verify });
  using before = openModel(path);
  using after = openModel(destination);
  return {
    model: name,
    result: outcome.changed ? "verified" : "unchanged",
    error,
    misalignedBefore: misalignedShare(before),
    misalignedAfter: misalignedShare(after),
    microsecondsBefore: outcome.microseconds.before,
    microsecondsAfter: outcome.microseconds.after,
    nodesAdded: after.graph.nodes.length - before.graph.nodes.length,
    innerPads: innerPads(before, after),
    parametersAdded: outcome.diff.addedElements,
    recovery: recoveryOf(buildContext(before, settings), buildContext(after, settings), settings),
    secondTime: again.changed ? "CHANGES" : "same",
    reasons: outcome.notes.filter(({ kind }) => kind === "blocked").map(({ message }) => message),
  };
}

/** Of product FLOPs, the share in products with an axis off the multiple of 8. */
function misalignedShare(model: Parameters<typeof buildContext>[0]): number {
  const { products } = buildContext(model, settings);
  let [all, off] = [0, 0];
  for (const { sizes, runs } of products) {
    const flops = flopsOf(sizes) * runs;
    all += flops;
    if (contiguousAxes(sizes).some((size) => size % 8 !== 0)) off += flops;
  }
  return all > 0 ? off / all : 0;
}

/** Pads and Slices that the fix put between two nodes of the graph. */
function innerPads(before: Model, after: Model): number {
  const known = new Set(before.graph.nodes.map((node) => node.outputs[0]?.name));
  return after.graph.nodes.filter((node) => {
    if (node.opType !== "Pad" && node.opType !== "Slice") return false;
    if (known.has(node.outputs[0]?.name)) return false;
    return !(isAtInput(node) || isAtOutput(node));
  }).length;
}

function isAtInput(node: Node | undefined): boolean {
  const [value] = node?.inputs ?? [];
  if (value === undefined || value.isInput) return value !== undefined;
  return value.producer !== undefined && edgeOps.has(value.producer.opType) && isAtInput(value.producer);
}

function isAtOutput(node: Node | undefined): boolean {
  const [value] = node?.outputs ?? [];
  if (value === undefined || value.isOutput) return value !== undefined;
  return value.consumers.every((reader) => edgeOps.has(reader.opType) && isAtOutput(reader));
}

function shareOf(part: number, whole: number): number {
  return whole > 0 ? part / whole : 1;
}

interface Totals extends Recovery {
  readonly innerPads: number;
  readonly share: number;
  readonly listedShare: number;
}

/** Over all models. */
function totals(): Totals {
  const reasons = new Map<string, { products: number; microseconds: number }>();
  let [recoverable, recovered, pads] = [0, 0, 0];
  const listed = { recoverableMicroseconds: 0, recoveredMicroseconds: 0 };
  for (const { recovery, innerPads: inner = 0 } of rows) {
    pads += inner;
    recoverable += recovery?.recoverableMicroseconds ?? 0;
    recovered += recovery?.recoveredMicroseconds ?? 0;
    listed.recoverableMicroseconds += recovery?.listed.recoverableMicroseconds ?? 0;
    listed.recoveredMicroseconds += recovery?.listed.recoveredMicroseconds ?? 0;
    for (const { reason, products, microseconds } of recovery?.remainder ?? []) {
      const known = reasons.get(reason) ?? { products: 0, microseconds: 0 };
      known.products += products;
      known.microseconds += microseconds;
      reasons.set(reason, known);
    }
  }
  return {
    innerPads: pads,
    recoverableMicroseconds: recoverable,
    recoveredMicroseconds: recovered,
    listed,
    share: shareOf(recovered, recoverable),
    listedShare: shareOf(listed.recoveredMicroseconds, listed.recoverableMicroseconds),
    remainder: [...reasons]
      .map(([reason, rest]) => ({ reason, ...rest }))
      .sort((a, b) => b.microseconds - a.microseconds),
  };
}

function printTotals(): void {
  const { share, listedShare, recoverableMicroseconds, recoveredMicroseconds, ...rest } = totals();
  const { remainder, innerPads: pads } = rest;
  const count = (result: string) => rows.filter((row) => row.result === result).length;
  console.log(
    `${rows.length} models: ${count("verified")} verified, ${count("unchanged")} unchanged; ${pads} Pad or Slice inside`,
  );
  console.log(`recovered ${(100 * listedShare).toFixed(1)} % of what linting lists`);
  console.log(
    `recovered ${(100 * share).toFixed(1)} % of ${recoverableMicroseconds.toFixed(0)} µs (${recoveredMicroseconds.toFixed(0)} µs); the rest:`,
  );
  for (const { reason, products, microseconds } of remainder) {
    console.log(`  ${microseconds.toFixed(1).padStart(8)} µs in ${products} products: ${reason}`);
  }
}

function print(row: Row): void {
  const share = (value: number | undefined) => (value === undefined ? "-" : `${(100 * value).toFixed(1)} %`);
  const time = `${row.microsecondsBefore?.toFixed(0) ?? "-"} → ${row.microsecondsAfter?.toFixed(0) ?? "-"}`;
  const cells = [
    row.model.padEnd(26),
    row.result.slice(0, 200).padEnd(11),
    (row.error?.toExponential(1) ?? "-").padStart(10),
    `${share(row.misalignedBefore)} → ${share(row.misalignedAfter)}`.padStart(18),
    time.padStart(16),
    String(row.nodesAdded ?? "-").padStart(6),
    String(row.innerPads ?? "-").padStart(6),
    recoveryText(row).padStart(16),
    row.secondTime ?? "-",
  ];
  console.log(cells.join(" "));
}

function recoveryText({ recovery }: Row): string {
  if (recovery === undefined) return "-";
  return `${recovery.recoveredMicroseconds.toFixed(0)} of ${recovery.recoverableMicroseconds.toFixed(0)} µs`;
}

function save(out: string): void {
  mkdirSync(dirname(out), { recursive: true });
  const command = `node scripts/run.mjs bench/fix-zoo.ts --mode ${mode} --out ${out}`;
  writeFileSync(out, `${JSON.stringify({ command, totals: totals(), rows }, null, 1)}\n`);
}
