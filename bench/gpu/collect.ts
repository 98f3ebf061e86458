/**
 * @file What a run on a GPU host left behind, as it is kept: bench/results/gpu-*.json and gpu-zoo.md.
 *
 *     node scripts/run.mjs bench/gpu/collect.ts --from FOLDER --host "one NVIDIA H200, …" [--compiled FILE]
 *
 * From the root of the checkout. FOLDER holds what the scripts of bench/gpu and test/gpu wrote to $OUT, and original/zoo.json, aligned/zoo.json,
 * half/zoo.json; what is not there is left as it is. FILE is h200-pytorch-models.json, for torch.compile's times.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import type { ZooResult } from "../../test/gpu/zoo-run.ts";
import { geometricMean } from "./beside-torch.ts";

const { values: options } = parseArgs({
  options: { from: { type: "string" }, host: { type: "string" }, compiled: { type: "string" } },
});
const { from, host } = options;
if (from === undefined || host === undefined) throw new Error("--from FOLDER and --host TEXT are needed");
const results = "bench/results";

function read<Content>(file: string): Content | undefined {
  const full = path.join(from ?? "", file);
  return existsSync(full) ? JSON.parse(readFileSync(full, "utf8")) : undefined;
}

/** Numbers as far as they mean anything. */
function write(name: string, content: object): void {
  const rounded = (_: string, value: unknown) =>
    typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;
  writeFileSync(path.join(results, name), `${JSON.stringify(content, rounded, 1)}\n`);
  console.log(name);
}

interface OperationRow {
  readonly us: number;
  readonly from?: string | undefined;
  readonly peerUs?: number | null | undefined;
}

/** Rows of one of the benches of operations; GEMM's misaligned ones have a mean of their own. */
function collectOperations(name: string, script: string): void {
  const rows = read<readonly OperationRow[]>(`${name}.json`);
  if (rows === undefined) return;
  const meanOf = (own: readonly OperationRow[]) => {
    const ratios = own.flatMap(({ us, peerUs }) => (peerUs ? [peerUs / us] : []));
    return { ratioToPyTorch: geometricMean(ratios), ratedRows: ratios.length };
  };
  const isMisaligned = ({ from: source }: OperationRow) => source?.includes("misaligned") ?? false;
  const misaligned = rows.filter(isMisaligned);
  write(`gpu-${name}.json`, {
    command: `node dist/gpu/${script}.js --peers PEERS`,
    host,
    ...meanOf(rows.filter((row) => !isMisaligned(row))),
    ...(misaligned.length > 0 ? { misaligned: meanOf(misaligned) } : {}),
    rows,
  });
}

interface ModelRow {
  readonly model: string;
  readonly batch: number;
  readonly microseconds: number | null;
  readonly spread: number | null;
  readonly launches: number;
  readonly error: string;
}

interface Peer {
  readonly model: string;
  readonly batch: number;
  readonly mode: string;
  readonly us: number | null;
  /** Measured in another run on a GPU of the same kind. */
  readonly earlier?: boolean | undefined;
}

function collectModels(): void {
  const found = read<{ readonly rows: readonly ModelRow[]; readonly peers: readonly Peer[] }>("models.json");
  if (found === undefined) return;
  const compiled: readonly Peer[] =
    options.compiled === undefined ? [] : JSON.parse(readFileSync(options.compiled, "utf8")).models;
  const peerOf = (peers: readonly Peer[], row: ModelRow, mode: string) =>
    peers.find((peer) => peer.mode === mode && peer.model === row.model && peer.batch === row.batch);
  const rows = found.rows.map(({ model, batch, microseconds, spread, launches, error }) => {
    const row = { model, batch, microseconds, spread, launches, error };
    const eager = peerOf(found.peers, row, "fp16_nhwc");
    const stored = peerOf(compiled, row, "compile_fp16_nhwc");
    return {
      ...row,
      eagerFp16NhwcMicroseconds: eager?.us ?? null,
      ...(eager?.earlier ? { eagerIsFromEarlierRun: true } : {}),
      storedCompileMicroseconds: stored?.us ?? null,
    };
  });
  const ratioTo = (key: "eagerFp16NhwcMicroseconds" | "storedCompileMicroseconds") =>
    geometricMean(rows.flatMap((row) => (row.microseconds && row[key] ? [row[key] / row.microseconds] : [])));
  write("gpu-models.json", {
    command:
      "node dist/gpu/models.js --zoo FIXED --manifest MANIFEST --peers PEERS (FIXED: tc-lint --fix of each model; those " +
      "exported at batch 1 once more by export_batch.py)",
    host,
    storedCompile: "torch.compile, from h200-pytorch-models.json: another run on an H200",
    ratioToEager: ratioTo("eagerFp16NhwcMicroseconds"),
    ratioToStoredCompile: ratioTo("storedCompileMicroseconds"),
    rows,
  });
}

function collectNodeTests(): void {
  const [fp32, fp16] = ["fp32", "fp16"].map(
    (precision) => read<{ readonly summary: object }>(`node-tests-${precision}.json`)?.summary,
  );
  if (fp32 === undefined || fp16 === undefined) return;
  const command = "node dist/gpu/node-tests.js --tests FOLDER --precision fp32,fp16 --twice";
  write("gpu-node-tests.json", { command, host, fp32, fp16 });
}

const variants = ["original", "aligned", "half"] as const;

function collectZoo(): void {
  const found = variants.map((variant) => ({
    variant,
    rows: read<readonly ZooResult[]>(`${variant}/zoo.json`),
  }));
  if (found.every(({ rows }) => rows === undefined)) return;
  const lines = found.flatMap(({ variant, rows = [] }) =>
    rows.map(
      (row) =>
        [`| ${row.model} | ${variant} | ${row.precision} | ${cellsOf(row).join(" | ")} |`, row] as const,
    ),
  );
  const inside = lines.filter(([, { status }]) => status === "inside").length;
  const text = [
    "# The zoo on a GPU",
    "",
    `${inside} of ${lines.length} runs are inside their budgets (design D8) against ONNX Runtime on the CPU. ${host}.`,
    "",
    "original: as exported. aligned: after `tc-lint --fix`. half: after `tc-lint --fix --unsafe-fixes --layout nhwc`, in all",
    "precisions within what half weights may come to. error: of the worst output, over its largest element; budget: how much",
    "of it that is. µs: median of replays of one CUDA graph, one model at a time, while others load on the same machine.",
    "",
    "| model | file | precision | status | error | budget | µs | arena MB | steps | launches |",
    "|---|---|---|---|---|---|---|---|---|---|",
    ...lines.map(([line]) => line).sort(),
    "",
  ];
  writeFileSync(path.join(results, "gpu-zoo.md"), text.join("\n"));
  console.log("gpu-zoo.md");
}

function cellsOf(row: ZooResult): string[] {
  const { status, reason, relativeError, shareOfBudget, microseconds, arenaBytes, steps, launches } = row;
  if (status !== "inside") return [`${status}: ${reason.split("\n")[0]}`, "", "", "", "", "", ""];
  return [
    status,
    relativeError.toExponential(1),
    `${(100 * shareOfBudget).toFixed(0)} %`,
    microseconds.toPrecision(4),
    (arenaBytes / 1e6).toFixed(1),
    String(steps),
    String(launches),
  ];
}

collectOperations("gemm", "gemm");
collectOperations("attention", "attention");
collectOperations("norm-fp16", "norm");
collectOperations("chain", "chain");
collectOperations("conv", "conv");
collectOperations("conv-misaligned", "conv");
collectModels();
collectNodeTests();
collectZoo();
