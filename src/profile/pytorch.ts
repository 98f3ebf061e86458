/**
 * @file PyTorch's trace (`torch.profiler`, `export_chrome_trace`). A kernel names the operator that launched it by its `External id`, or
 * the call by its `correlation`; both lie within the ranges of `record_function`, by whose names a module or a node of the model is known.
 */
import { groupBy } from "../ir/group.ts";
import { type Event, eventsOf, lastBefore } from "./events.ts";
import {
  badProfile,
  isRecord,
  medians,
  type Profile,
  type ProfileFile,
  type ProfileLayer,
  withoutWarmUp,
} from "./profile.ts";

export function isPyTorchTrace(value: unknown): boolean {
  return isRecord(value) && Array.isArray(value["traceEvents"]);
}

/** A range of the CPU's time. */
interface Range {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** What took time, where it was launched, and what else is known of it. */
interface Launched {
  readonly name: string;
  readonly microseconds: number;
  readonly thread: string;
  readonly at: number;
}

/** Throws InputError. */
export function pyTorchProfile({ path, value }: ProfileFile): Profile {
  const events = eventsOf(isRecord(value) ? value["traceEvents"] : [], path);
  const ranges = new Ranges(events.filter(({ cat, name }) => cat === "user_annotation" && !isStep(name)));
  const steps = rangesOf(events.filter(({ cat, name }) => cat === "user_annotation" && isStep(name)));
  const launched = launchedIn(events);
  if (steps.length === 0) checkOneRun(ranges.all, path);
  const runs = steps.length === 0 ? [new Map<string, number>()] : steps.map(() => new Map<string, number>());
  const mentioned = new Map<string, readonly string[]>();
  for (const { name, microseconds, thread, at } of launched) {
    const index = steps.length === 0 ? 0 : lastBefore(steps, ({ start }) => start, at);
    const run = runs[index];
    if (run === undefined || at >= (steps[index]?.end ?? Number.POSITIVE_INFINITY)) continue;
    const around = ranges.around(thread, at);
    const key = around[0] ?? name;
    if (!mentioned.has(key)) mentioned.set(key, around);
    run.set(key, (run.get(key) ?? 0) + microseconds);
  }
  const { counted, leftOut } = withoutWarmUp(runs.filter((run) => run.size > 0));
  const layers = [...medians(counted)].map(([name, microseconds]): ProfileLayer => {
    const around = mentioned.get(name) ?? [];
    return { name, microseconds, mentions: around.map((each) => ({ kind: "module", path: each })) };
  });
  const onCpu = !events.some(({ cat }) => deviceWork.has(cat));
  return { tool: "pytorch", runs: counted.length, leftOut, statistic: "median", layers, onCpu };
}

/** `profiler.step()` marks them. */
function isStep(name: string): boolean {
  return name.startsWith("ProfilerStep#");
}

/** Kernels; of a trace of the CPU its outermost operators. */
function launchedIn(events: readonly Event[]): Launched[] {
  const kernels = events.filter(({ cat }) => deviceWork.has(cat));
  const operators = events.filter(({ cat }) => cat === "cpu_op");
  if (kernels.length === 0) return outermost(operators);
  const byId = new Map<unknown, Event>();
  const byCorrelation = new Map<unknown, Event>();
  // Of operators within each other the innermost comes last.
  for (const each of operators) byId.set(each.args["External id"], each);
  for (const each of events)
    if (each.cat === "cuda_runtime" || each.cat === "cuda_driver")
      byCorrelation.set(each.args["correlation"], each);
  return kernels.map((kernel) => {
    const { "External id": id, correlation } = kernel.args;
    const by =
      (id === undefined ? undefined : byId.get(id)) ??
      (correlation === undefined ? undefined : byCorrelation.get(correlation));
    const { thread, ts } = by ?? kernel;
    return { name: by?.name ?? kernel.name, microseconds: kernel.dur(), thread, at: ts };
  });
}

const deviceWork: ReadonlySet<string> = new Set(["kernel", "gpu_memcpy", "gpu_memset"]);

function outermost(operators: readonly Event[]): Launched[] {
  const ends = new Map<string, number>();
  const found: Launched[] = [];
  for (const { name, thread, ts, dur } of operators.toSorted((a, b) => a.ts - b.ts || b.dur() - a.dur())) {
    if (ts < (ends.get(thread) ?? Number.NEGATIVE_INFINITY)) continue;
    const microseconds = dur();
    ends.set(thread, ts + microseconds);
    found.push({ name, microseconds, thread, at: ts });
  }
  return found;
}

function rangesOf(events: readonly Event[]): Range[] {
  return events.map(({ name, ts, dur }) => ({ name, start: ts, end: ts + dur() })).sort(byStart);
}

/** What is around another begins no later. */
function byStart(a: Range, b: Range): number {
  return a.start - b.start || b.end - a.end;
}

interface Opened extends Range {
  readonly around: Opened | undefined;
}

/** Ranges of each thread, which lie within each other or apart. */
class Ranges {
  readonly all: readonly Range[];
  readonly #byThread = new Map<string, readonly Opened[]>();

  constructor(events: readonly Event[]) {
    this.all = rangesOf(events);
    const byThread = groupBy(events, ({ thread }) => thread);
    for (const [thread, own] of byThread) this.#byThread.set(thread, nested(rangesOf(own)));
  }

  /** Names of the ranges around a moment, the innermost first. */
  around(thread: string, at: number): string[] {
    const ranges = this.#byThread.get(thread) ?? [];
    const names: string[] = [];
    let range = ranges[lastBefore(ranges, ({ start }) => start, at)];
    for (let depth = 0; range !== undefined && depth < mostNested; depth++, range = range.around)
      if (at < range.end) names.push(range.name);
    return names;
  }
}

/** Deeper than modules are: each kernel asks for what is around it. */
const mostNested = 256;

function nested(ranges: readonly Range[]): Opened[] {
  const opened: Opened[] = [];
  let around: Opened | undefined;
  for (const range of ranges) {
    while (around !== undefined && around.end <= range.start) around = around.around;
    around = { ...range, around };
    opened.push(around);
  }
  return opened;
}

/** Where every range comes as often, several runs look like one. Throws InputError. */
function checkOneRun(ranges: readonly Range[], path: string): void {
  const counts = new Map<string, number>();
  for (const { name } of ranges) counts.set(name, (counts.get(name) ?? 0) + 1);
  let least = Number.POSITIVE_INFINITY;
  for (const count of counts.values()) least = Math.min(least, count);
  if (counts.size < 2 || least < 2) return;
  throw badProfile(
    path,
    `every range comes ${least} times or more, and no ProfilerStep# says where a run ends: call profiler.step() after each`,
  );
}
