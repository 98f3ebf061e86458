/** @file Launches with what fetches weights ahead for them, on a stream beside. */
import { machineOfDevice } from "../../src/hardware/machine.ts";
import type { DeviceContext } from "../driver/context.ts";
import { Launcher } from "../driver/kernel.ts";
import { Owned } from "../driver/owned.ts";
import { Stream, TimingEvent } from "../driver/stream.ts";
import type { DeviceBuffer } from "../ir/view.ts";
import { prefetchLaunch, type Stretch, stretchesOf } from "../plan/prefetch.ts";
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

  #follow(before: Stream, after: Stream): void {
    const event = this.#owned.use(new TimingEvent(this.#context.driver));
    before.record(event);
    this.#context.driver.call("cuStreamWaitEvent", after.handle, event.handle, 0);
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }
}
