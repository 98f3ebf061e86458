/** @file How long a session's runs and steps take, by events on the GPU. */
import { Owned } from "../driver/owned.ts";
import { type Graph, StreamClock, TimingEvent } from "../driver/stream.ts";
import type { DeviceSession } from "./session.ts";
import type { ReadyStep } from "./steps.ts";

export interface TimeOptions {
  /** Runs before the first that counts; 5 unless given. */
  readonly warmup?: number | undefined;
  /** Runs that count; 50 unless given. */
  readonly repeats?: number | undefined;
}

/** Microseconds. */
export interface Times {
  readonly median: number;
  /** A tenth of the runs took less, a tenth more. */
  readonly low: number;
  readonly high: number;
  readonly repeats: number;
}

const defaults = { warmup: 5, repeats: 50 };
/** Twice the L2, so that nothing of the run before is left in it. */
const flushFactor = 2;
/** Of one step, in graphs long enough for the resolution of events, and not longer than this in all. */
const groupMicroseconds = 100;
const maxCopies = 32;
const maxGroups = 12;
const stepBudgetMicroseconds = 20_000;

/** Whole runs, each from a cold L2. The inputs have to be there. */
export function timeRuns(session: DeviceSession, options: TimeOptions = {}): Times {
  return timesOf(runsOf(session, options));
}

/** Rounds in which sessions take turns, so that a clock that falls or rises falls or rises for all of them. */
const turns = 9;

/** Whole runs of several sessions in turns: by session, the median of every turn. */
export function timeInTurns(sessions: readonly DeviceSession[], options: TimeOptions = {}): number[][] {
  const { warmup = defaults.warmup, repeats = defaults.repeats } = options;
  for (const session of sessions) runsOf(session, { warmup, repeats: 1 });
  const each = { warmup: 1, repeats: Math.max(3, Math.ceil(repeats / turns)) };
  const medians = sessions.map((): number[] => []);
  for (let turn = 0; turn < turns; turn++)
    for (const [index, session] of sessions.entries())
      medians[index]?.push(timesOf(runsOf(session, each)).median);
  return medians;
}

/** Microseconds of every run. */
function runsOf(session: DeviceSession, options: TimeOptions): number[] {
  const { warmup = defaults.warmup, repeats = defaults.repeats } = options;
  const { stream, runner } = session;
  const { driver, device } = runner.context;
  using owned = new Owned();
  const flush = owned.use(runner.context.allocate(flushFactor * device.l2Bytes));
  for (let run = 0; run < warmup; run++) session.launch();
  const pairs = Array.from({ length: repeats }, () => {
    const pair = [owned.use(new TimingEvent(driver)), owned.use(new TimingEvent(driver))] as const;
    stream.fill(flush.address, 0, flush.bytes);
    stream.record(pair[0]);
    session.launch();
    stream.record(pair[1]);
    return pair;
  });
  session.synchronize();
  return pairs.map(([start, end]) => end.microsecondsSince(start));
}

/** Every step by itself, launched again and again: its operands may come from the L2. */
export function timeSteps(session: DeviceSession, onStep?: (index: number) => void): Times[] {
  return session.ready.map((step, index) => {
    onStep?.(index);
    return timeStep(session, step);
  });
}

/** One step by itself: its operands may come from the L2. */
export function timeStep(session: DeviceSession, step: ReadyStep): Times {
  const once = measured(session, step, 1, 2).median;
  const copies = Math.max(1, Math.min(maxCopies, Math.ceil(groupMicroseconds / once)));
  const groups = Math.max(3, Math.min(maxGroups, Math.floor(stepBudgetMicroseconds / (copies * once))));
  return measured(session, step, copies, groups);
}

/** `groups` graphs of `copies` launches each, one at a time. */
function measured(session: DeviceSession, step: ReadyStep, copies: number, groups: number): Times {
  return timeReplays(session, [step], copies, groups);
}

/** Steps one after another, `copies` times a graph: their operands may come from the L2. Times of one round of them. */
export function timeReplays(
  { stream, runner }: Pick<DeviceSession, "stream" | "runner">,
  steps: readonly ReadyStep[],
  copies: number,
  groups: number,
): Times {
  using clock = new StreamClock(runner.context.driver, stream);
  using graph: Graph = stream.capture(() => {
    for (let copy = 0; copy < copies; copy++) for (const step of steps) runner.launch(step, stream);
  });
  graph.launch(stream);
  const samples = Array.from(
    { length: groups },
    () => clock.microsecondsOf(() => graph.launch(stream)) / copies,
  );
  return timesOf(samples);
}

export function timesOf(samples: readonly number[]): Times {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
  const [lower, upper] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  const median = ((lower ?? Number.NaN) + (upper ?? Number.NaN)) / 2;
  return { median, low: at(0.1), high: at(0.9), repeats: sorted.length };
}
