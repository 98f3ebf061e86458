/** @file Rows of the zoo's table. */
import type { ZooResult } from "./zoo-run.ts";

const columns = { model: 26, precision: 5, error: 9, share: 8, time: 10, arena: 8, steps: 6 } as const;

export function resultText(result: ZooResult): string {
  const { model, precision, status, reason, relativeError, shareOfBudget, microseconds, spread } = result;
  const head = `${model.padEnd(columns.model)} ${precision.padEnd(columns.precision)} ${status.padEnd(11)}`;
  if (status === "unsupported" || status === "failed") return `${head} ${firstLine(reason)}`;
  const cells = [
    `error ${relativeError.toExponential(1)}`.padStart(columns.error + 6),
    `${(100 * shareOfBudget).toFixed(0)} %`.padStart(columns.share),
    `${microseconds.toFixed(1)} µs`.padStart(columns.time + 3),
    `±${(50 * spread).toFixed(0)} %`.padStart(6),
    `${(result.arenaBytes / 1e6).toFixed(1)} MB`.padStart(columns.arena + 3),
    `${result.steps} steps, ${result.launches} launches`,
  ];
  return `${head} ${cells.join(" ")}${reason === "" ? "" : `  ${reason}`}`;
}

export function planText(result: ZooResult, isVerbose: boolean): string {
  const { model, precision, status, reason, steps, families, planSeconds } = result;
  const head = `${model.padEnd(columns.model)} ${precision.padEnd(columns.precision)} ${status.padEnd(11)}`;
  if (status !== "planned") return `${head} ${isVerbose ? reason : firstLine(reason)}`;
  const parts = Object.entries(families)
    .sort(([, a], [, b]) => b - a)
    .map(([family, count]) => `${family} ${count}`);
  return `${head} ${String(steps).padStart(columns.steps)} steps: ${parts.join(", ")} (${planSeconds.toFixed(2)} s)`;
}

export function zooSummary(results: readonly ZooResult[]): string {
  const lines: string[] = [];
  const missing = new Map<string, string[]>();
  for (const { status, reason, model } of results) {
    if (status !== "unsupported") continue;
    const operator = reason.split(": ")[0] ?? "";
    missing.set(operator, [...new Set([...(missing.get(operator) ?? []), model])]);
  }
  for (const [operator, models] of [...missing].sort(([, a], [, b]) => b.length - a.length)) {
    lines.push(`unsupported ${operator}: ${models.join(", ")}`);
  }
  const precisions = [...new Set(results.map(({ precision }) => precision))];
  for (const precision of precisions) {
    const own = results.filter((result) => result.precision === precision);
    const count = (status: ZooResult["status"]) => own.filter((result) => result.status === status).length;
    const parts = (["planned", "inside", "outside", "unsupported", "failed"] as const).map(
      (status) => `${count(status)} ${status}`,
    );
    lines.push(
      `${precision}: ${own.length} models: ${parts.filter((part) => !part.startsWith("0 ")).join(", ")}`,
    );
  }
  return lines.join("\n");
}

function firstLine(text: string): string {
  return text.split("\n")[0] ?? "";
}
