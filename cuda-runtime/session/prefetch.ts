/** @file Weights brought into L2 while the launches before those that read them run. */
import { machineOfDevice } from "../../src/hardware/machine.ts";
import { predictedMicroseconds } from "../cost/predict.ts";
import type { DeviceContext } from "../driver/context.ts";
import { Launcher } from "../driver/kernel.ts";
import { Owned } from "../driver/owned.ts";
import { Stream, TimingEvent } from "../driver/stream.ts";
import { writeParams } from "../ir/param-table.ts";
import type { PlanTarget, Step } from "../ir/step.ts";
import type { DeviceBuffer } from "../ir/view.ts";
import { prefetchStruct } from "../kernels/prefetch/params.table.ts";
import { viewsOf } from "../plan/arena.ts";
import type { ReadyStep, StepRunner } from "./steps.ts";
import type { KernelStore } from "./store.ts";

/** Bytes of the constants' memory. */
export interface Stretch {
  readonly offset: number;
  readonly bytes: number;
}

/**
 * Weights of more than this share of L2 are left alone: what comes in ahead drives out what launches still read. From a cold L2 of an H200, batch 1, what fits ran
 * in 0.94 to 0.97 of the time (mobilenet_v2, vit_tiny, llama, shufflenet_v2, yolo), and siglip's 60 MB in 1.07; other architectures were not measured (docs/adr/0034-instructions-and-weights-at-hand.md).
 */
const shareOfL2 = 0.4;
/** Of DRAM's rate: launches read and write meanwhile. */
const shareOfDram = 0.5;
/** Fewer are not worth a launch. */
const leastBytes = 2 ** 20;
/** What a line of L2 is fetched by. */
const lineBytes = 128;
/** Of one warp each. */
const blocks = 64;

/**
 * What to fetch before the first step, and behind each: as DRAM gets to it in the time that steps are predicted to take. `endOf`: where a constant ends in memory
 * that is laid out as steps first read it; undefined for what is none. Nothing where it would not pay.
 */
export function stretchesOf(
  steps: readonly Step[],
  endOf: (buffer: DeviceBuffer) => number | undefined,
  target: PlanTarget,
): (Stretch | undefined)[] {
  let end = 0;
  /** By step: what it and those before have read. */
  const ends = steps.map((step) => {
    for (const { buffer } of viewsOf(step)) end = Math.max(end, endOf(buffer) ?? 0);
    return end;
  });
  const mayPay = target.features.overlap && end <= shareOfL2 * target.l2Bytes && end >= leastBytes;
  if (!mayPay) return [];
  const rate = shareOfDram * target.bandwidth.dram;
  let done = 0;
  const upTo = (reached: number, used: number): Stretch | undefined => {
    const from = Math.floor(Math.max(done, used) / lineBytes) * lineBytes;
    const to = Math.min(end, reached);
    if (to - from < leastBytes) return undefined;
    done = to;
    return { offset: from, bytes: Math.ceil((to - from) / lineBytes) * lineBytes };
  };
  // The first step reads its own; the next ones' are on their way.
  const start = 2 * leastBytes;
  let reached = start;
  return [
    upTo(start, ends[0] ?? 0),
    ...steps.map((step, index) => {
      reached += rate * predictedMicroseconds(step.action, target);
      return upTo(reached, ends[index + 1] ?? end);
    }),
  ];
}

/** Launches steps, and what fetches ahead for them on a stream of its own, forked from theirs. */
export class PrefetchedSteps implements Disposable {
  readonly #owned = new Owned();
  readonly #context: DeviceContext;
  readonly #runner: StepRunner;
  readonly #store: KernelStore;
  #fork: { readonly side: Stream; readonly launcher: Launcher } | undefined;

  constructor(runner: StepRunner, store: KernelStore) {
    this.#context = runner.context;
    this.#runner = runner;
    this.#store = store;
  }

  /** To `main`, which is captured. `base`: the constants' address. Throws what the store throws. */
  launch(
    steps: readonly ReadyStep[],
    base: number,
    endOf: (buffer: DeviceBuffer) => number | undefined,
    main: Stream,
  ): void {
    const target = machineOfDevice(this.#context.device);
    const stretches = stretchesOf(
      steps.map(({ step }) => step),
      endOf,
      target,
    );
    this.#fetch(stretches[0], base, main);
    for (const [index, step] of steps.entries()) {
      this.#runner.launch(step, main);
      this.#fetch(stretches[index + 1], base, main);
    }
    if (this.#fork !== undefined) this.#follow(this.#fork.side, main);
  }

  #fetch(stretch: Stretch | undefined, base: number, main: Stream): void {
    if (stretch === undefined) return;
    const { side, launcher } = this.#forked();
    this.#follow(main, side);
    const kernel = this.#store.kernel({ kind: "built", family: "prefetch", entry: "prefetch" });
    const params = writeParams(prefetchStruct, { from: base + stretch.offset, bytes: stretch.bytes });
    const shape = { grid: [blocks, 1, 1], block: [32, 1, 1], sharedBytes: 0 } as const;
    launcher.launch(kernel, shape, params.bytes, side);
  }

  #forked(): { readonly side: Stream; readonly launcher: Launcher } {
    const { driver } = this.#context;
    // It waits for nothing, so that it may not be launched before what it is forked from.
    this.#fork ??= {
      side: this.#owned.use(new Stream(driver)),
      launcher: this.#owned.use(new Launcher(driver, false)),
    };
    return this.#fork;
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
