/**
 * @file What `tc-lint bench -f json` and `tc-lint validate -f json` write: launches of the bundled runtime, each with the label of the
 * node that it is for. Of several configurations one is meant: that which ran the file as it is, in the target's precision.
 */

import { gpuOfDevice } from "../hardware/machine.ts";
import type { Precision } from "../hardware/target.ts";
import { InputError } from "../ir/errors.ts";
import { push } from "../ir/group.ts";
import {
  badProfile,
  emptyProfile,
  type Fields,
  isRecord,
  type Profile,
  type ProfileFile,
  type RanAs,
  timeIn,
  type WantedRun,
} from "./profile.ts";

/** A model that ran, and what it ran as. */
interface Run {
  /** As the report calls it: `FP16 as exported`. */
  readonly name: string;
  readonly model: string;
  readonly precision: Precision;
  /** Repaired in memory first. */
  readonly isFixed: boolean;
  readonly sizes: Readonly<Record<string, number>>;
  readonly steps: readonly Fields[];
  readonly wholeMicroseconds: number | undefined;
}

/** What the runtime calls precisions, as targets call them; of several runs the first of these where nobody says. */
const precisions: ReadonlyMap<unknown, Precision> = new Map([
  ["model", "as-is"],
  ["fp16", "fp16"],
  ["bf16", "bf16"],
  ["tf32", "tf32"],
  ["fp32", "fp32"],
]);

/** What both reports begin with, and no other tool's. */
export function isTcLintReport(value: unknown): boolean {
  return isRecord(value) && isRecord(value["gpu"]) && listOf(value) !== undefined;
}

/** What `tc-lint bench --plan -f json` writes: steps that nobody timed. */
export function isPlan(value: unknown): boolean {
  const [first] = Array.isArray(value) ? value : [];
  return isRecord(first) && Array.isArray(first["steps"]) && "predictedMicroseconds" in first;
}

/** Configurations of a benchmark, or runs of a validation. */
function listOf(value: Fields): readonly unknown[] | undefined {
  const list = value["configurations"] ?? (typeof value["against"] === "string" ? value["runs"] : undefined);
  return Array.isArray(list) ? list : undefined;
}

/** Throws InputError. */
export function tcLintProfile({ path, value }: ProfileFile, wanted: WantedRun): Profile {
  const report = isRecord(value) ? value : {};
  const run = chosen(runsOf(report, path), path, wanted);
  const { model, steps, precision, sizes, wholeMicroseconds } = run;
  const byLabel = new Map<string, Fields[]>();
  for (const step of steps) push(byLabel, textIn(step, "label", path), step);
  const layers = [...byLabel].map(([label, launches]) => ({
    name: label,
    microseconds: launches.reduce((sum, launch) => sum + ofRun(launch, path), 0),
    mentions: [label, ...launches.flatMap(besideOf)].map((each) => ({ kind: "label", label: each }) as const),
    op: textIn(launches[0] ?? {}, "operator", path),
  }));
  const repeats = steps.map((step) => timesOf(step, path).repeats);
  const { gpu, gpuRow } = deviceOf(report, path);
  return {
    tool: "tc-lint",
    runs: Math.max(
      1,
      repeats.reduce((least, each) => Math.min(least, each), Number.MAX_SAFE_INTEGER),
    ),
    leftOut: 0,
    statistic: "median",
    layers,
    ran: {
      ...{ model, precision, sizes, gpu, gpuRow, wholeMicroseconds },
      wholeFp32Microseconds: precision === "fp32" ? undefined : inFp32(run, report, path),
    },
  };
}

/** Microseconds that the run takes longer by: a launch is timed by itself, and others may run beside it. Reports of before do not say so. */
function ofRun(launch: Fields, path: string): number {
  const { runShare } = launch;
  const isBeside = typeof runShare === "number" && runShare > 0;
  return timesOf(launch, path).median * (isBeside ? runShare : 1);
}

/** Other products of a launch; reports of before have none. */
function besideOf({ beside }: Fields): string[] {
  return Array.isArray(beside) ? beside.filter((each) => typeof each === "string") : [];
}

/**
 * What a whole run of the same file at the same sizes took in FP32, which a benchmark times without its steps. Throws InputError.
 */
function inFp32({ model, sizes }: Run, report: Fields, path: string): number | undefined {
  const found = (listOf(report) ?? [])
    .filter(isRecord)
    .find(
      (each) =>
        each["precision"] === "fp32" &&
        each["fixed"] === false &&
        each["model"] === model &&
        JSON.stringify(sizesIn(each["sizes"])) === JSON.stringify(sizes),
    );
  return isRecord(found?.["times"]) ? timeIn(found["times"], "median", path) : undefined;
}

/** Throws InputError. */
function deviceOf({ gpu }: Fields, path: string): Pick<RanAs, "gpu" | "gpuRow"> {
  const device = isRecord(gpu) ? gpu : {};
  const name = textIn(device, "name", path);
  const { computeCapability: generation, multiprocessors } = device;
  const isWhole = typeof generation === "number" && typeof multiprocessors === "number";
  const row = isWhole ? gpuOfDevice({ name, computeCapability: generation, multiprocessors }) : undefined;
  return { gpu: name, gpuRow: row?.id };
}

/** Those whose steps were timed. Throws InputError. */
function runsOf(report: Fields, path: string): Run[] {
  const [draw] = Array.isArray(report["draws"]) ? report["draws"] : [];
  const drawn = isRecord(draw) ? draw["sizes"] : undefined;
  return (listOf(report) ?? []).flatMap((run): Run[] => {
    const steps = isRecord(run) && Array.isArray(run["steps"]) ? run["steps"].filter(isRecord) : [];
    if (!isRecord(run) || steps.length === 0) return [];
    const precision = precisions.get(run["precision"]);
    if (precision === undefined)
      throw badProfile(
        path,
        `a run has the precision ${JSON.stringify(run["precision"])}, expected one of ${[...precisions.keys()].join(", ")}`,
      );
    const [name, model] = [textIn(run, "name", path), textIn(run, "model", path)];
    // What the host decides has steps of its own.
    const { launches } = run;
    if (typeof launches === "number" && steps.length < launches)
      throw badProfile(
        path,
        `"${name}" has ${steps.length} steps, expected one for each of its ${launches} launches`,
      );
    const wholeMicroseconds = isRecord(run["times"]) ? timeIn(run["times"], "median", path) : undefined;
    const sizes = sizesIn(run["sizes"] ?? drawn);
    return [{ name, model, precision, isFixed: run["fixed"] === true, sizes, steps, wholeMicroseconds }];
  });
}

/** Throws InputError where none ran what is wanted. */
function chosen(runs: readonly Run[], path: string, wanted: WantedRun): Run {
  if (runs.length === 0)
    throw emptyProfile(path, "no steps were timed: expected what tc-lint bench -f json writes");
  const ofModel = runsOfModel(runs, path, wanted.model);
  const asIs = ofModel.filter(({ isFixed }) => !isFixed);
  const again = (precision: string) =>
    `tc-lint bench --no-fix --precision ${precision} -f json ${wanted.model}`;
  if (asIs.length === 0) {
    const found = ofModel.map(({ name }) => name).join(", ");
    const runtime = runtimeName(wanted.precision ?? ofModel[0]?.precision);
    throw mismatch(
      path,
      `steps of the repaired model alone (${found}), not of ${wanted.model} as it is; ${again(runtime)} times these`,
    );
  }
  const ran = new Set(asIs.map(({ precision }) => precision));
  const precision = wanted.precision ?? [...precisions.values()].find((each) => ran.has(each));
  const run = asIs.find((each) => each.precision === precision);
  if (run !== undefined) return run;
  const found = [...ran].join(", ");
  throw mismatch(
    path,
    `steps in ${found}, and the target's precision is ${precision}; expected --precision ${found}, or ${again(runtimeName(precision))}`,
  );
}

/** Of a comparison of two models the one that is linted; a file's only model may have been moved since. */
function runsOfModel(runs: readonly Run[], path: string, model: string): readonly Run[] {
  const names = [...new Set(runs.map((run) => run.model))];
  if (names.length === 1) return runs;
  const name =
    names.find((each) => each === model) ?? onlyOne(names.filter((each) => lastOf(each) === lastOf(model)));
  if (name !== undefined) return runs.filter((run) => run.model === name);
  throw mismatch(path, `steps of ${names.join(" and ")}; expected those of ${model}`);
}

function onlyOne(names: readonly string[]): string | undefined {
  return names.length === 1 ? names[0] : undefined;
}

export function lastOf(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

/** As `bench --precision` takes it: quantized models run as they are stored. */
function runtimeName(precision: Precision | undefined): string {
  return precision === undefined || precision === "int8" ? "as-is" : precision;
}

function mismatch(path: string, what: string): InputError {
  return new InputError("profile-mismatch", `${path}: ${what}`);
}

/** Throws InputError. */
function timesOf(step: Fields, path: string): { readonly median: number; readonly repeats: number } {
  const times = step["times"];
  const name = textIn(step, "label", path);
  if (!isRecord(times)) throw badProfile(path, `a step of "${name}" has no times`);
  const named = { ...times, name };
  return { median: timeIn(named, "median", path), repeats: timeIn(named, "repeats", path) };
}

function sizesIn(value: unknown): Readonly<Record<string, number>> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, size]) => (typeof size === "number" ? [[name, size]] : [])),
  );
}

function textIn(fields: Fields, key: string, path: string): string {
  const text = fields[key];
  if (typeof text === "string") return text;
  throw badProfile(path, `found no "${key}" where a text is expected`);
}
