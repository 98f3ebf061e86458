/**
 * @file `--fix` over the zoo: is it the same function, what did it change, what remains.
 *
 *   node scripts/build.mjs --no-types && node scripts/run.mjs bench/fix-zoo.ts [--models a,b] [--mode safe|half|nhwc] [--out FILE.json]
 *
 * Each model gets its weights in a temporary folder, is fixed there through the passes, verified by ONNX Runtime in a
 * child process, fixed again (which must change nothing), and removed. With --out the rows go to FILE.json, and the table to
 * FILE.md; with --models, rows of other models in it stay. What "recoverable" means is said in fix-recovery.ts.
 */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { createCostModel } from "../src/cost/model.ts";
import { writeEmulation } from "../src/fix/emulation.ts";
import { fixModel } from "../src/fix/fix.ts";
import type { FixSettings } from "../src/fix/pipeline.ts";
import { findGpu } from "../src/hardware/gpus.ts";
import { stacks } from "../src/hardware/stacks.ts";
import { bytesOf } from "../src/ir/dtype.ts";
import type { Model } from "../src/ir/model.ts";
import { openModel } from "../src/onnx/open.ts";
import { flopsOf } from "../src/ops/work.ts";
import { align } from "../src/passes/align/align.ts";
import { contiguousAxes } from "../src/passes/align/remainder.ts";
import { channelsLast } from "../src/passes/channels-last/channels-last.ts";
import { fold } from "../src/passes/fold/fold.ts";
import { half } from "../src/passes/half/half.ts";
import type { Pass } from "../src/passes/pass.ts";
import { budgets, compareModels } from "../src/verify/index.ts";
import { priceModel } from "../src/workload/workload.ts";
import { recoveryOf } from "./fix-recovery.ts";
import { headingOf, innerPads, lineOf, markdownOf, type Row, totalsOf, totalsText } from "./fix-table.ts";

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
  cost: createCostModel({ inModels: true }),
  passes,
  minSaving: 0.005,
  options: { halfType: "float16", halfIo: false, ranges: undefined, nhwcIo: false, nhwcForm: "portable" },
};
const budget = mode === "half" ? budgets.float16 : budgets.folding;
/** The largest models take minutes on a busy machine. */
const timeoutSeconds = 3600;
const promise = "verified with ONNX Runtime";
const rows: Row[] = [];
/** Of models that are not asked for: a file is brought up to date model by model. */
const kept =
  options.models === undefined ? [] : rowsIn(options.out).filter(({ model }) => !names.includes(model));

console.log(headingOf());
for (const name of names) {
  const row = await rowOf(name);
  rows.push(row);
  console.log(lineOf(row));
  if (options.out !== undefined) save(options.out);
}
console.log(totalsText([...kept, ...rows]));

async function rowOf(name: string): Promise<Row> {
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
  const compare = async (original: string, candidate: string) => {
    const { report } = await compareModels(original, candidate, {
      childUrl: pathToFileURL(resolve("dist/verify-child.js")),
      budget,
      timeoutSeconds,
    });
    const relative = report.outputs.map(({ difference }) => {
      const { maximumError = 0, largest = 0 } = difference ?? {};
      return largest > 0 ? maximumError / largest : maximumError;
    });
    error = Math.max(error, ...relative);
    if (!report.same)
      throw new Error(`differs: ${report.problems.join("; ")} relative error ${error.toExponential(1)}`);
  };
  const verify = async (original: string, candidate: string) => {
    await compare(original, candidate);
    if (mode === "half") {
      const emulated = join(folder, "emulated.onnx");
      await writeEmulation(candidate, emulated, "float16");
      await compare(original, emulated);
    }
    return { kind: "verified" as const, summary: "", otherwise: [] };
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
    bytesAdded: storedBytes(after) - storedBytes(before),
    innerPads: innerPads(before, after),
    ...(mode === "safe" && { recovery: recoveryOf(before, settings) }),
    secondTime: again.changed ? "CHANGES" : "same",
    notes: outcome.notes.map(({ pass, kind, message }) => `${pass} ${kind}: ${message}`),
  };
}

/** Of product FLOPs, the share in products with an axis off the multiple of 8. */
function misalignedShare(model: Parameters<typeof priceModel>[0]): number {
  const { products } = priceModel(model, settings);
  let [all, off] = [0, 0];
  for (const { sizes, runs } of products) {
    const flops = flopsOf(sizes) * runs;
    all += flops;
    if (contiguousAxes(sizes).some((size) => size % 8 !== 0)) off += flops;
  }
  return all > 0 ? off / all : 0;
}

/** Of all initializers of the main graph. */
function storedBytes({ graph }: Model): number {
  let bytes = 0;
  for (const { initializer } of graph.values.values()) {
    const { dtype, dims = [] } = initializer ?? {};
    const elements = dims.reduce((total, dim) => total * dim, 1);
    if (dtype !== undefined) bytes += bytesOf(dtype, elements);
  }
  return bytes;
}

function rowsIn(out: string | undefined): readonly Row[] {
  if (out === undefined || !existsSync(out)) return [];
  const saved: { readonly rows: readonly Row[] } = JSON.parse(readFileSync(out, "utf8"));
  return saved.rows;
}

function save(out: string): void {
  mkdirSync(dirname(out), { recursive: true });
  const all = [...kept, ...rows].sort((a, b) => (a.model < b.model ? -1 : 1));
  const command = `node scripts/run.mjs bench/fix-zoo.ts --mode ${mode} --out ${out}`;
  writeFileSync(out, `${JSON.stringify({ command, totals: totalsOf(all), rows: all }, null, 1)}\n`);
  writeFileSync(out.replace(/(\.json)?$/, ".md"), markdownOf(all, command));
}
