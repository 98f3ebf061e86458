/**
 * @file Whole models in FP16 beside PyTorch's, in one run on one GPU: one CUDA graph each, microseconds a forward pass.
 *
 *     node dist/gpu/models.js --zoo FOLDER --peers FOLDER [--models a,b] [--compile]
 *
 * FOLDER of --zoo holds NAME.onnx with weights, and NAME@BATCH.onnx where an export holds its batch (export_batch.py);
 * that of --peers torch_models.py.
 * Writes $OUT/models.json.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { DeviceSession } from "../../cuda-runtime/session/session.ts";
import type { OpenModel } from "../../src/onnx/open.ts";
import { lostContext, supervise, tell } from "../../test/gpu/supervise.ts";
import { openZooModel, sizesFor } from "../../test/gpu/zoo-models.ts";
import { Reference } from "../../test/gpu/zoo-reference.ts";
import { bytesOfInputs, planZooModel, timed } from "../../test/gpu/zoo-run.ts";
import { geometricMean } from "./beside-torch.ts";

interface Row {
  readonly model: string;
  readonly batch: number;
  /** Null where it did not run. */
  readonly microseconds: number | null;
  readonly spread: number | null;
  readonly steps: number;
  readonly launches: number;
  readonly error: string;
}

const rowsByDefault =
  "convnext_tiny,deeplabv3,densenet121,efficientnet_b0,misaligned_cnn,mobilenet_v2,resnet50,resnext50,seg_unet," +
  "shufflenet_v2,siglip_so400m_d2,swin_tiny,vit_tiny,yolo";
/** Exported at this batch. */
const fixedRows = "sd_unet@2,video_unet_48@2";

const { values: options } = parseArgs({
  options: {
    zoo: { type: "string", default: "zoo" },
    peers: { type: "string" },
    manifest: { type: "string" },
    models: { type: "string" },
    batches: { type: "string", default: "1,32" },
    compile: { type: "boolean", default: false },
    items: { type: "string" },
  },
});
const manifest = options.manifest ?? path.join(options.zoo, "manifest.json");

if (options.items !== undefined) await runChild(options.items.split(","));
else await runParent();

function itemsWanted(): string[] {
  const batches = options.batches.split(",");
  const named = (options.models ?? rowsByDefault).split(",");
  const moving = named.flatMap((model) =>
    model.includes("@") ? [model] : batches.map((batch) => `${model}@${batch}`),
  );
  return options.models === undefined ? [...moving, ...fixedRows.split(",")] : moving;
}

async function runParent(): Promise<void> {
  const rows: Row[] = [];
  const items = itemsWanted();
  await supervise<Row>({
    script: fileURLToPath(import.meta.url),
    args: ["--zoo", options.zoo, "--manifest", manifest],
    items,
    batch: 4,
    jobs: 1,
    seconds: 120,
    onResult: (_, row) => rows.push(row),
    onLost: (item, how) => rows.push(failedRow(item, how)),
  });
  const peers = options.peers === undefined ? [] : timePeers(options.peers, items);
  report(rows, peers);
}

function split(item: string): [string, number] {
  const [model = item, batch = "1"] = item.split("@");
  return [model, Number(batch)];
}

function failedRow(item: string, error: string): Row {
  const [model, batch] = split(item);
  return { model, batch, microseconds: null, spread: null, steps: 0, launches: 0, error };
}

async function runChild(items: readonly string[]): Promise<void> {
  const host = await HarnessHost.open({ kernels: new URL("../cuda/", import.meta.url) });
  for (const item of items) {
    await tell({ kind: "starting", item });
    try {
      await tell({ kind: "done", item, result: runItem(item, host) });
    } catch (error) {
      await tell({
        kind: "done",
        item,
        result: failedRow(item, error instanceof Error ? error.message : String(error)),
      });
      process.exit(lostContext);
    }
  }
  process.exit(0);
}

function runItem(item: string, host: HarnessHost): Row {
  const [name, batch] = split(item);
  const isExported = existsSync(path.join(options.zoo, `${item}.onnx`));
  using model: OpenModel = openZooModel(options.zoo, isExported ? item : name);
  const sizes = isExported ? new Map<string, number>() : new Map(sizesFor(model, name, manifest));
  for (const symbol of sizes.keys()) if (/batch/i.test(symbol)) sizes.set(symbol, batch);
  const exported = isExported ? batch : manifestBatch(name);
  if (sizes.size === 0 && exported !== batch) return failedRow(item, `exported at batch ${exported}`);
  const [planned, plan] = planZooModel({ name, model, sizes, precision: "fp16" }, host);
  if (plan === undefined) return failedRow(item, planned.reason);
  using session = DeviceSession.load(host.context, host.store, plan, {});
  const { inputs } = new Reference({ model, name, sizes, cache: undefined });
  session.run(bytesOfInputs(plan, inputs));
  const { steps, launches } = planned;
  return { model: name, batch, ...timed(session, host), steps, launches, error: "" };
}

function manifestBatch(name: string): number | undefined {
  const entries = JSON.parse(readFileSync(manifest, "utf8")) as Record<
    string,
    { inputs: { example: number[] }[] }
  >;
  return entries[name]?.inputs[0]?.example[0];
}

interface Peer {
  readonly model: string;
  readonly mode: string;
  readonly batch: number;
  readonly us: number | null;
}

/** torch_models.py in one process a mode and batch. */
function timePeers(folder: string, items: readonly string[]): Peer[] {
  const modes = options.compile ? ["fp16_nhwc", "compile"] : ["fp16_nhwc"];
  const wanted = items.map(split);
  const batches = [...new Set(wanted.map(([, batch]) => batch))];
  return modes.flatMap((mode) =>
    batches.flatMap((batch) => {
      const names = wanted.filter(([, own]) => own === batch).map(([model]) => model);
      const { stdout, stderr, status } = spawnSync(
        "python3",
        [path.join(folder, "torch_models.py"), mode, String(batch), ...names],
        { encoding: "utf8", maxBuffer: 1 << 26 },
      );
      if (status !== 0) console.error(stderr.slice(-2000));
      return stdout
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => ({ ...JSON.parse(line), batch }) as Peer);
    }),
  );
}

function report(rows: readonly Row[], peers: readonly Peer[]): void {
  const out = process.env["OUT"];
  if (out !== undefined && existsSync(out)) {
    writeFileSync(path.join(out, "models.json"), `${JSON.stringify({ rows, peers }, null, 1)}\n`);
  }
  const of = (row: Row, mode: string) =>
    peers.find((peer) => peer.mode === mode && peer.model === row.model && peer.batch === row.batch)?.us ??
    Number.NaN;
  console.log("model                batch        µs   launches   eager µs   ratio   compile µs   ratio");
  for (const row of rows) {
    const [eager, compiled] = [of(row, "fp16_nhwc"), of(row, "compile")];
    const cells = [
      row.model.padEnd(20),
      String(row.batch).padStart(5),
      (row.microseconds ?? Number.NaN).toFixed(1).padStart(10),
      String(row.launches).padStart(10),
      eager.toFixed(1).padStart(10),
      (eager / (row.microseconds ?? Number.NaN)).toFixed(2).padStart(7),
      compiled.toFixed(1).padStart(12),
      (compiled / (row.microseconds ?? Number.NaN)).toFixed(2).padStart(7),
    ];
    console.log(`${cells.join(" ")}  ${row.error.slice(0, 200)}`);
  }
  for (const mode of ["fp16_nhwc", "compile"]) {
    const ratios = rows
      .map((row) => of(row, mode) / (row.microseconds ?? Number.NaN))
      .filter((ratio) => ratio > 0);
    if (ratios.length === 0) continue;
    console.log(`${mode}: geometric mean ${geometricMean(ratios).toFixed(3)} over ${ratios.length} rows`);
  }
}
