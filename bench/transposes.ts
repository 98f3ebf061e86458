/**
 * @file What `--layout nhwc` costs a runtime that does not care for it: Transposes left in ONNX Runtime's optimized graph,
 * before and after, for each model of the zoo.
 *
 *   node scripts/run.mjs bench/transposes.ts [--models a,b] [--out FILE]
 *
 * Each model gets its weights in a temporary folder, both versions are optimized there for the CPU, and removed.
 */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { finished } from "node:stream/promises";
import { parseArgs } from "node:util";
import { InferenceSession } from "onnxruntime-node";
import { createCostModel } from "../src/cost/model.ts";
import { type FixedModel, type FixSettings, runPasses } from "../src/fix/pipeline.ts";
import { findGpu } from "../src/hardware/gpus.ts";
import { stacks } from "../src/hardware/stacks.ts";
import { openModel } from "../src/onnx/open.ts";
import { channelsLast } from "../src/passes/channels-last/channels-last.ts";
import { fold } from "../src/passes/fold/fold.ts";
import type { Segment } from "../src/wire/splice.ts";

const { values: options } = parseArgs({
  options: {
    models: { type: "string" },
    out: { type: "string", default: "bench/results/transposes.json" },
    "skip-larger-than-mb": { type: "string", default: "1000" },
  },
});
const zoo = resolve("..", "shared", "zoo");
const names =
  options.models?.split(",") ?? readdirSync(zoo).flatMap((file) => file.match(/^(.*)\.onnx$/)?.[1] ?? []);
const gpu = findGpu("h200");
if (gpu === undefined) throw new Error("the hardware table has no H200");
const settings: FixSettings = {
  target: { gpu, stack: stacks.cudnn, precision: "fp16" },
  cost: createCostModel({ inModels: true }),
  passes: [fold, channelsLast],
  minSaving: 0.005,
  options: { halfType: "float16", halfIo: false, ranges: undefined, nhwcIo: false, nhwcForm: "portable" },
};

interface Row {
  readonly model: string;
  /** Transposes in the optimized graph; null where it was not optimized. */
  readonly before: number | null;
  readonly after: number | null;
  /** Transposes that the pass wrote into the graph, outside functions, more than were there. */
  readonly written: number | null;
  readonly note: string;
}

const rows: Row[] = [];
console.log("model                      before   after  written  note");
for (const name of names) {
  const row = await one(name);
  rows.push(row);
  const cells = [row.before, row.after, row.written].map((count) => String(count ?? "-").padStart(7));
  console.log(`${row.model.padEnd(25)} ${cells.join(" ")}  ${row.note}`);
  save(options.out);
}
const worse = rows.filter(({ before, after }) => before !== null && after !== null && after > before);
console.log(`${rows.length} models, ${worse.length} with more Transposes than the original`);
process.exitCode = worse.length > 0 ? 1 : 0;

async function one(name: string): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), "tc-lint-transposes-"));
  try {
    spawnSync(process.execPath, [join(zoo, "materialize.mjs"), folder, name], { stdio: "ignore" });
    return await countIn(folder, name);
  } catch (error) {
    const message = error instanceof Error ? error.message.replaceAll(folder, "") : String(error);
    return { model: name, before: null, after: null, written: null, note: `failed: ${message}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function countIn(folder: string, name: string): Promise<Row> {
  const path = join(folder, `${name}.onnx`);
  const bytes = readdirSync(folder).reduce((total, file) => total + statSync(join(folder, file)).size, 0);
  if (bytes > Number(options["skip-larger-than-mb"]) * 2 ** 20) {
    return { model: name, before: null, after: null, written: null, note: "skipped: too large" };
  }
  using original = openModel(path);
  const fixed = runPasses(original, settings);
  const changes = fixed.notes.filter(({ kind, pass }) => kind === "changed" && pass === "channels-last");
  const before = await optimizedTransposes(path, folder);
  if (changes.length === 0)
    return { model: name, before, after: before, written: 0, note: "nothing to move" };
  const destination = join(folder, `${name}.nhwc.onnx`);
  await write(fixed, destination, folder, `${name}.nhwc.data`);
  const after = await optimizedTransposes(destination, folder);
  const blocked = fixed.notes.filter(({ kind, pass }) => kind === "blocked" && pass === "channels-last");
  const written = transposes(fixed.model) - transposes(original);
  return { model: name, before, after, written, note: blocked.map(({ message }) => message).join("; ") };
}

async function write(fixed: FixedModel, path: string, folder: string, data: string): Promise<void> {
  const rendered = fixed.render(data);
  await writeSegments(rendered.model, path);
  if (rendered.data !== undefined) await writeSegments(rendered.data, join(folder, data));
}

async function writeSegments(segments: readonly Segment[], path: string): Promise<void> {
  const stream = createWriteStream(path);
  const window = 1 << 22;
  for (const segment of segments) {
    if (segment.kind !== "copy") {
      stream.write(segment.bytes);
      continue;
    }
    for (let done = 0; done < segment.length; done += window) {
      const part = new Uint8Array(Math.min(window, segment.length - done));
      segment.source.readInto(segment.offset + done, part);
      if (!stream.write(part)) await once(stream, "drain");
    }
  }
  stream.end();
  await finished(stream);
}

async function optimizedTransposes(path: string, folder: string): Promise<number> {
  const optimized = join(folder, "optimized.onnx");
  const session = await InferenceSession.create(path, {
    graphOptimizationLevel: "all",
    optimizedModelFilePath: optimized,
    logSeverityLevel: 4,
    intraOpNumThreads: 1,
  });
  await session.release();
  using model = openModel(optimized);
  const count = transposes(model);
  rmSync(optimized);
  return count;
}

function transposes(model: ReturnType<typeof openModel>): number {
  return model.graph.nodes.filter(({ domain, opType }) => domain === "" && opType === "Transpose").length;
}

function save(out: string): void {
  mkdirSync(dirname(out), { recursive: true });
  const command = `node scripts/run.mjs bench/transposes.ts --out ${out}`;
  writeFileSync(out, `${JSON.stringify({ command, rows }, null, 1)}\n`);
}
