/** @file What a comparison comes to, in the words that text and Markdown share. */
import type {
  ChangeVerdict,
  CompareReport,
  Difference,
  FileStatus,
  ModelComparison,
  SideReport,
  TimeChange,
} from "../compare/result.ts";
import { compact, counted, duration, durationRange, noInterval, percent } from "../ir/format.ts";
import { bytesText } from "../ir/memory.ts";
import type { Finding } from "../lint/result.ts";

export interface CompareOptions {
  readonly color: 0 | 1;
  /** Every kernel, node and weight. */
  readonly verbose: boolean;
  /** The GPU and stack in words. */
  readonly describeTarget: (target: { readonly gpu: string; readonly stack: string }) => string;
}

/** `36 µs slower, 6.2 % (12 to 60 µs)`. */
export function timeText(time: TimeChange): string {
  const { verdict, low, high, share } = time;
  const size = duration(Math.abs(time.microseconds));
  const part = share === 0 ? "" : `, ${percent(Math.abs(share))}`;
  const texts: Readonly<Record<ChangeVerdict, () => string>> = {
    same: () => "no kernel takes another time",
    slower: () => `${size} slower${part} (${durationRange(low, high)})`,
    faster: () => `${size} faster${part} (${durationRange(0 - high, 0 - low)})`,
    unclear: () =>
      `no difference that the interval supports (${
        time.shareHigh > 1 ? noInterval : `${signedDuration(low)} to ${signedDuration(high)}`
      })`,
  };
  return texts[verdict]();
}

/** `in the types that they store 3.44 ms → 2.29 ms: 1.14 ms faster, 33 % (…)`; undefined where that is no other figure. */
export function storedText({ stored }: Pick<ModelComparison, "stored">): string | undefined {
  if (stored === null) return undefined;
  const times = `${duration(stored.base)} → ${duration(stored.head)}`;
  return `in the types that they store ${times}: ${timeText(stored.time)}`;
}

/** `+36 µs`, `-1.2 ms`, `0 µs`. */
export function signedDuration(microseconds: number): string {
  return microseconds > 0 ? `+${duration(microseconds)}` : duration(microseconds);
}

/** `+36 µs (+12 µs to +60 µs)`. */
export function differenceText({ microseconds, low, high }: Difference): string {
  return `${signedDuration(microseconds)} (${signedDuration(low)} to ${signedDuration(high)})`;
}

/** Whether something of it is worth a look. */
export function isNews(model: ModelComparison): boolean {
  const { status, verdict, findings, budgets = [], error } = model;
  const { new: fresh, worse, fixed } = findings;
  return (
    error !== null ||
    status === "added" ||
    status === "deleted" ||
    verdict === "slower" ||
    verdict === "faster" ||
    fresh.length + worse.length + fixed.length > 0 ||
    budgets.some(({ verdict }) => verdict !== "kept" && verdict !== "unpriced")
  );
}

/** What became of the file, where that says more than that it differs. */
export function statusText({ status, base }: ModelComparison): string {
  const texts: Readonly<Record<FileStatus, string>> = {
    changed: "",
    same: "the same file",
    moved: `only moved, from ${base?.path ?? "another place"}`,
    added: "new",
    deleted: "deleted",
  };
  return texts[status];
}

export function titleOf({ path, scenario }: ModelComparison): string {
  return scenario === undefined ? path : `${path} (${scenario})`;
}

/** A finding at one node or at several alike. */
export interface Alike {
  readonly first: Finding;
  readonly count: number;
}

/** Findings of one rule that say the same. */
export function alike(findings: readonly Finding[]): Alike[] {
  const groups = new Map<string, { first: Finding; count: number }>();
  for (const finding of findings) {
    const key = [finding.code, finding.severity, finding.message].join("\u0000");
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { first: finding, count: 1 });
    else group.count += 1;
  }
  return [...groups.values()];
}

/** Kinds with another number of nodes, and those that only convert or reorder in any case: `nodes 9 → 11: Cast 0 → 2, Conv 3 → 2; Transpose 1 as before`. */
export function nodesText({ graph, base, head }: ModelComparison): string {
  if (graph === null || base === null || head === null) return "";
  const changed = graph.operators.filter((each) => each.base !== each.head);
  const ordered = [
    ...changed.filter(({ overhead }) => overhead),
    ...changed.filter(({ overhead }) => !overhead),
  ];
  const kept = graph.operators.filter((each) => each.overhead && each.base === each.head);
  const parts = [
    ordered.map(({ op, base: was, head: is }) => `${op} ${was} → ${is}`).join(", "),
    kept.map(({ op, head: is }) => `${op} ${is} as before`).join(", "),
  ].filter((part) => part !== "");
  const nodes =
    base.nodes === head.nodes ? counted(head.nodes, "node") : `nodes ${base.nodes} → ${head.nodes}`;
  return [nodes, parts.join("; ")].filter((part) => part !== "").join(": ");
}

/** `76 KiB → 80 KiB, 18.8 k → 19 k parameters`. */
export function sizeText({ base, head }: ModelComparison): string {
  if (base === null || head === null) return [base, head].flatMap(sideSizeText).join("");
  const [was, is] = [bytesText(bytesOf(base)), bytesText(bytesOf(head))];
  const [before, after] = [compact(base.parameters), compact(head.parameters)];
  const bytes = bytesOf(base) === bytesOf(head) ? is : `${was} → ${is}`;
  const parameters = base.parameters === head.parameters ? after : `${before} → ${after}`;
  return `${bytes}, ${parameters} parameters`;
}

function sideSizeText(side: SideReport | null): string[] {
  if (side === null) return [];
  return [
    `${bytesText(bytesOf(side))}, ${counted(side.nodes, "node")}, ${compact(side.parameters)} parameters`,
  ];
}

function bytesOf({ fileBytes, externalBytes }: SideReport): number {
  return fileBytes + externalBytes;
}

/** `main (1a2b3c4d5e6f)`; empty for two files. */
export function baseText({ base }: CompareReport): string {
  if (base === null) return "";
  const short = base.commit.slice(0, 12);
  return base.ref === base.commit ? short : `${base.ref} (${short})`;
}

/** What fails or pleases, the worst first; empty where nothing moved beyond its interval. */
export function movedTexts({ summary, models }: CompareReport): string[] {
  const { newErrors, newWarnings, newInfos, fixed, slower, faster, budgetsExceeded, failedModels } = summary;
  const ofStatus = (status: FileStatus) =>
    new Set(models.filter((model) => model.status === status && model.error === null).map(({ path }) => path))
      .size;
  const [added, deleted] = [ofStatus("added"), ofStatus("deleted")];
  const parts: readonly (readonly [number, string])[] = [
    [failedModels, `${failedModels} not compared`],
    [newErrors, counted(newErrors, "new error")],
    [budgetsExceeded, `${counted(budgetsExceeded, "budget")} exceeded`],
    [newWarnings, counted(newWarnings, "new warning")],
    [newInfos, counted(newInfos, "new info")],
    [slower, `${slower} slower`],
    [faster, `${faster} faster`],
    [fixed, counted(fixed, "finding fixed", "findings fixed")],
    [added, counted(added, "new model")],
    [deleted, counted(deleted, "model deleted", "models deleted")],
  ];
  return parts.filter(([count]) => count > 0).map(([, text]) => text);
}

/** Where nothing moved: a verdict of what the files store may be another than that of the target's precision, which stands above it. */
export function quietText({ models }: CompareReport): string {
  const isBeyond = (verdict: ChangeVerdict | undefined) => verdict === "slower" || verdict === "faster";
  const isOfTypes = models.some(({ time, verdict }) => isBeyond(time?.verdict) && time?.verdict !== verdict);
  return `nothing moved beyond its interval${isOfTypes ? " in the types that the files store" : ""}`;
}

/** How many models there are: `2 models compared, 48 unchanged`. */
export function modelsText({ models, unchanged }: CompareReport): string {
  const paths = new Set(models.filter(({ error }) => error === null).map(({ path }) => path)).size;
  const moved = new Set(models.filter(({ status }) => status === "moved").map(({ path }) => path)).size;
  const scenarios = models.some(({ scenario }) => scenario !== undefined)
    ? `, ${counted(models.length, "scenario")}`
    : "";
  return [
    `${counted(paths, "model")} compared${scenarios}`,
    moved > 0 ? `${moved} only moved` : "",
    unchanged.length > 0 ? `${unchanged.length} unchanged` : "",
  ]
    .filter((part) => part !== "")
    .join(", ");
}
