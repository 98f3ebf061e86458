/** @file A run's launches, each on its lane, with what fetches weights ahead for them on a stream beside. */
import { machineOfDevice } from "../../src/hardware/machine.ts";
import type { DeviceContext } from "../driver/context.ts";
import { Launcher } from "../driver/kernel.ts";
import { Owned } from "../driver/owned.ts";
import { Stream } from "../driver/stream.ts";
import type { DeviceBuffer } from "../ir/view.ts";
import { prefetchLaunch, type Stretch, stretchesOf } from "../plan/prefetch.ts";
import { LaneStreams } from "./lanes.ts";
import type { ReadyStep, StepRunner } from "./steps.ts";
import type { KernelStore } from "./store.ts";

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
    const planned = steps.map(({ step }) => step);
    const stretches = stretchesOf(planned, endOf, target);
    const lanes = this.#owned.use(new LaneStreams(this.#context.driver, planned, main));
    this.#fetch(stretches[0], base, main, lanes);
    for (const [index, ready] of steps.entries()) {
      const stream = lanes.launch(ready.step, index, (own) => this.#runner.launch(ready, own));
      this.#fetch(stretches[index + 1], base, stream, lanes);
    }
    lanes.join();
    if (this.#fork !== undefined) lanes.follow(this.#fork.side, main);
  }

  #fetch(stretch: Stretch | undefined, base: number, behind: Stream, lanes: LaneStreams): void {
    if (stretch === undefined) return;
    const { side, launcher } = this.#forked();
    lanes.follow(behind, side);
    const { kernel, params, ...shape } = prefetchLaunch(base + stretch.offset, stretch.bytes);
    launcher.launch(this.#store.kernel(kernel), shape, params.bytes, side);
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

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }
}
