/** @file A profile: what a tool measured of a model, layer by layer, before anybody knows which nodes a layer is. */
import type { Precision } from "../hardware/target.ts";
import { InputError } from "../ir/errors.ts";
import type { ProfileTool } from "../lint/result.ts";

export type { ProfileTool } from "../lint/result.ts";

/** What a layer says of the nodes that it computes, in the words of its tool. */
export type Mention =
  /** A node, or a value that it makes: the first of these names that the model has. */
  | { readonly kind: "name"; readonly names: readonly string[] }
  /** All nodes from one to another, in the order of the graph. */
  | { readonly kind: "range"; readonly from: string; readonly to: string }
  /** Nodes that come of a PyTorch module. */
  | { readonly kind: "module"; readonly path: string }
  /** The node that `labelOf` calls so. */
  | { readonly kind: "label"; readonly label: string };

export interface ProfileLayer {
  /** As the tool has it. */
  readonly name: string;
  /** Of one run of the model. */
  readonly microseconds: number;
  readonly mentions: readonly Mention[];
  /** The operator that ran, where the tool says so: it may stand for several nodes of the model. */
  readonly op?: string;
}

export interface Profile {
  readonly tool: ProfileTool;
  /** Runs that count. */
  readonly runs: number;
  /** First runs, which warm up: left out. */
  readonly leftOut: number;
  /** Over the runs, of each layer. */
  readonly statistic: "median" | "mean";
  readonly layers: readonly ProfileLayer[];
  /** Whether it ran on a CPU, where the file says so. */
  readonly onCpu?: boolean;
  /** What was run, where the file says so. */
  readonly ran?: RanAs;
}

/** How a model was run. */
export interface RanAs {
  /** The file, as the command was given it. */
  readonly model: string;
  readonly precision: Precision;
  /** Of symbolic dimensions. */
  readonly sizes: Readonly<Record<string, number>>;
  /** By the driver's name, and the row that it has; undefined where it has none. */
  readonly gpu: string;
  readonly gpuRow: string | undefined;
  /** One whole run of the model, which its layers, timed one by one, need not add up to; undefined where it was not timed. */
  readonly wholeMicroseconds: number | undefined;
  /** The same of the file in FP32, where the report has that run beside this one. */
  readonly wholeFp32Microseconds: number | undefined;
}

/** Which of several runs that a file may hold is meant. */
export interface WantedRun {
  /** The model, as reports call it. */
  readonly model: string;
  /** Undefined: whatever ran. */
  readonly precision: Precision | undefined;
}

/** A file of `--profile`, read as JSON. */
export interface ProfileFile {
  readonly path: string;
  readonly value: unknown;
}

export const toolNames: Readonly<Record<ProfileTool, string>> = {
  tensorrt: "TensorRT",
  onnxruntime: "ONNX Runtime",
  pytorch: "PyTorch",
  "tc-lint": "tc-lint's own runtime",
};

export function badProfile(path: string, what: string): InputError {
  return new InputError("bad-profile", `${path}: ${what}`);
}

export function emptyProfile(path: string, what: string): InputError {
  return new InputError("empty-profile", `${path}: ${what}`);
}

export type Fields = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A time that can be one. Throws InputError. */
export function timeIn(fields: Fields, key: string, path: string): number {
  const time = fields[key];
  if (typeof time === "number" && time >= 0 && time <= yearMicroseconds) return time;
  const found = typeof time === "number" ? `${time}` : short(JSON.stringify(time) ?? "none");
  const where = typeof fields["name"] === "string" ? ` of "${short(fields["name"])}"` : "";
  throw badProfile(path, `found ${found} for "${key}"${where}, expected a time, 0 or more and below a year`);
}

const mostShown = 80;
/** Nothing that is timed takes longer; sums of times below it are numbers. */
const yearMicroseconds = 3.2e13;

export function short(name: string): string {
  return name.length > mostShown ? `${name.slice(0, mostShown)}…` : name;
}

/** Times a run, name by name: what one run lacks took no time there. */
export function medians(runs: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const names = new Set(runs.flatMap((run) => [...run.keys()]));
  return new Map([...names].map((name) => [name, median(runs.map((run) => run.get(name) ?? 0))]));
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const [below, above] = [(sorted.length - 1) >> 1, sorted.length >> 1];
  return ((sorted[below] ?? 0) + (sorted[above] ?? 0)) / 2;
}

/** The first of several warms up. */
export function withoutWarmUp<Run>(runs: readonly Run[]): {
  readonly counted: readonly Run[];
  readonly leftOut: number;
} {
  return runs.length > 1 ? { counted: runs.slice(1), leftOut: 1 } : { counted: runs, leftOut: 0 };
}
