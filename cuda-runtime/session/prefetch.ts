/** @file Weights brought into L2 while the launches before those that read them run. */
import { machineOfDevice } from "../../src/hardware/machine.ts";
import { predictedMicroseconds } from "../cost/predict.ts";
import { writeParams } from "../ir/param-table.ts";
import type { PlanTarget, Step } from "../ir/step.ts";
import type { DeviceBuffer } from "../ir/view.ts";
import { prefetchStruct } from "../kernels/prefetch/params.table.ts";
import { viewsOf } from "../plan/arena.ts";
import { Owned } from "../driver/owned.ts";
import { Launcher } from "../driver/kernel.ts";
import { Stream, TimingEvent } from "../driver/stream.ts";
import type { DeviceContext } from "../driver/context.ts";
import type { KernelStore } from "./store.ts";

/** Bytes of constants, in the order in which steps first read them. */
export interface Stretch {
  readonly from: number;
  readonly bytes: number;
}

/** Of DRAM's rate, so that launches which read and write memory keep theirs. */
const share = Number(process.env["PF_SHARE"] ?? 0.5);
/** Of L2, what may lie there before it is read. */
const ahead = Number(process.env["PF_AHEAD"] ?? 0.4);
/** Shorter stretches wait for more. */
const leastBytes = Number(process.env["PF_LEAST"] ?? 2 ** 20);
const warps = Number(process.env["PF_WARPS"] ?? 64);

/** What to begin with, and behind each step: stretches of the constants' memory, which is laid out as steps first read it. */
export function stretchesOf(
  steps: readonly Step[],
  endOf: (buffer: DeviceBuffer) => number | undefined,
  target: PlanTarget,
): (Stretch | undefined)[] {
  const ends: number[] = [];
  let end = 0;
  for (const step of steps) {
    for (const { buffer } of viewsOf(step)) end = Math.max(end, endOf(buffer) ?? 0);
    ends.push(end);
  }
  const all = end;
  let done = 0;
  let time = 0;
  const next = (used: number): Stretch | undefined => {
    const reached = time * target.bandwidth.dram * share;
    const to = Math.min(all, reached, used + ahead * target.l2Bytes);
    const from = Math.max(done, used);
    if (to - from < leastBytes) return undefined;
    done = to;
    const start = Math.floor(from / 128) * 128;
    return { from: start, bytes: Math.ceil((to - start) / 128) * 128 };
  };
  time = 2 * leastBytes / (target.bandwidth.dram * share);
  const first = next(ends[0] ?? 0);
  return [
    first,
    ...steps.map((step, index) => {
      time += predictedMicroseconds(step.action, target);
      return next(ends[index + 1] ?? all);
    }),
  ];
}

/** Launches them on a stream of its own, forked from the one that is captured. */
export class Prefetcher implements Disposable {
  readonly #owned = new Owned();
  readonly #side: Stream;
  readonly #launcher: Launcher;
  readonly #store: KernelStore;
  readonly #context: DeviceContext;
  #isForked = false;

  constructor(context: DeviceContext, store: KernelStore) {
    this.#context = context;
    this.#store = store;
    this.#side = this.#owned.use(new Stream(context.driver));
    this.#launcher = this.#owned.use(new Launcher(context.driver, false));
  }

  static target(context: DeviceContext): PlanTarget {
    return machineOfDevice(context.device);
  }

  fetch(stretch: Stretch, base: number, main: Stream): void {
    this.#follow(main, this.#side);
    this.#isForked = true;
    const kernel = this.#store.kernel({ kind: "built", family: "prefetch", entry: "prefetch" });
    const { bytes: parameters } = writeParams(prefetchStruct, { from: base + stretch.from, bytes: stretch.bytes });
    const shape = { grid: [warps, 1, 1], block: [32, 1, 1], sharedBytes: 0 } as const;
    this.#launcher.launch(kernel, shape, parameters, this.#side);
  }

  /** `main` waits for what was forked from it. */
  join(main: Stream): void {
    if (this.#isForked) this.#follow(this.#side, main);
    this.#isForked = false;
  }

  #follow(before: Stream, after: Stream): void {
    const event = this.#owned.use(new TimingEvent(this.#context.driver));
    before.record(event);
    this.#context.driver.call("cuStreamWaitEvent", after.handle, event.handle, 0);
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }
}
