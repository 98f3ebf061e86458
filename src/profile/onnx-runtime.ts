/**
 * @file ONNX Runtime's profile (`SessionOptions.enable_profiling`): an array of chrome trace events. An event of the category `Node`
 * is a node of the optimized graph, named after the node of the model that its optimizer began with, or ended in; on a GPU events
 * of the category `Kernel` name the node that launched them.
 */
import { type Event, eventsOf, lastBefore } from "./events.ts";
import { medians, type Profile, type ProfileFile, type ProfileLayer, withoutWarmUp } from "./profile.ts";

export function isOnnxRuntimeProfile(value: unknown): boolean {
  return eventsOf(value).some(({ cat }) => cat === "Node" || cat === "Session");
}

interface Timed {
  readonly name: string;
  readonly op: string;
  readonly at: number;
  readonly microseconds: number;
}

/** Throws InputError. */
export function onnxRuntimeProfile({ path, value }: ProfileFile): Profile {
  const events = eventsOf(value, path);
  const kernels = events.flatMap((event) => kernelOf(event) ?? []);
  // Of a GPU, what a node takes on the CPU is its launch.
  const timed = kernels.length > 0 ? kernels : events.flatMap((event) => nodeOf(event) ?? []);
  const starts = runsOf(events);
  const runs = starts.map(() => new Map<string, number>());
  const ops = new Map<string, string>();
  for (const { name, op, at, microseconds } of timed) {
    const run = runs[lastBefore(starts, (start) => start, at)];
    if (run === undefined) continue;
    run.set(name, (run.get(name) ?? 0) + microseconds);
    ops.set(name, op);
  }
  const { counted, leftOut } = withoutWarmUp(runs.filter((run) => run.size > 0));
  const layers = [...medians(counted)].map(
    ([name, microseconds]): ProfileLayer => ({
      name,
      microseconds,
      mentions: [{ kind: "name", names: namesOf(name) }],
      op: ops.get(name) ?? "",
    }),
  );
  const onCpu = kernels.length === 0 && events.every(({ cat, args }) => cat !== "Node" || isOnCpu(args));
  return { tool: "onnxruntime", runs: counted.length, leftOut, statistic: "median", layers, onCpu };
}

function isOnCpu({ provider }: Event["args"]): boolean {
  return provider === undefined || provider === "CPUExecutionProvider";
}

const suffix = "_kernel_time";

function nodeOf({ cat, name, ts, dur, args }: Event): Timed | undefined {
  if (cat !== "Node" || !name.endsWith(suffix)) return undefined;
  return { name: name.slice(0, -suffix.length), op: textOf(args["op_name"]), at: ts, microseconds: dur() };
}

function kernelOf({ cat, ts, dur, args }: Event): Timed | undefined {
  const parent = textOf(args["parent_name"]);
  if (cat !== "Kernel" || !parent.endsWith(suffix)) return undefined;
  return { name: parent.slice(0, -suffix.length), op: textOf(args["op_name"]), at: ts, microseconds: dur() };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** When each run began; one that began before all where the trace does not say. */
function runsOf(events: readonly Event[]): number[] {
  const starts = events
    .filter(({ cat, name }) => cat === "Session" && name === "model_run")
    .map(({ ts }) => ts);
  return starts.length === 0 ? [Number.NEGATIVE_INFINITY] : starts.sort((a, b) => a - b);
}

/** The name itself, and what it was before the optimizer added to it, step by step. */
function namesOf(name: string): string[] {
  const names = [name];
  for (let plain = before(name); plain !== undefined && names.length < mostNames; plain = before(plain))
    names.push(plain);
  return names;
}

const mostNames = 8;

/** What the optimizer puts behind a name (`…_nchwc`, `…/MatMulAddFusion`, `…_token_7`) or before it, taken off. */
function before(name: string): string | undefined {
  const token = /_token_\d{1,9}$/.exec(name);
  if (token !== null) return name.slice(0, token.index);
  if (name.endsWith("_nchwc")) return name.slice(0, -"_nchwc".length);
  if (name.startsWith("fused ")) return name.slice("fused ".length);
  const whole = name.endsWith("/") ? name.slice(0, -1) : name;
  const slash = whole.lastIndexOf("/");
  return slash > 0 && whole.includes("Fusion", slash) ? whole.slice(0, slash) : undefined;
}
