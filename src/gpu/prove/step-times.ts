/** @file Times of single steps: each kind of launch once, whichever model it is in, and kept for the next process. */
import type { DeviceContext } from "../../../cuda-runtime/driver/context.ts";
import type { DeviceInfo } from "../../../cuda-runtime/driver/driver.ts";
import type { Plan } from "../../../cuda-runtime/ir/step.ts";
import type { CubinCache } from "../../../cuda-runtime/session/cubin-cache.ts";
import { chooseCache } from "../../../cuda-runtime/session/cubin-folder.ts";
import type { DeviceSession } from "../../../cuda-runtime/session/session.ts";
import type { KernelStore } from "../../../cuda-runtime/session/store.ts";
import { type Times, timeStep } from "../../../cuda-runtime/session/timing.ts";
import type { StepTime } from "./judge.ts";
import { stepKey } from "./step-key.ts";

/** Of what is written: another number is another meaning. */
const formatVersion = 1;

export class StepTimes {
  readonly #store: KernelStore;
  readonly #machine: string;
  readonly #cache: CubinCache | undefined;
  readonly #known = new Map<string, Times>();
  #measured = 0;
  #fromCache = 0;

  constructor({ device, driver }: DeviceContext, store: KernelStore) {
    this.#store = store;
    this.#machine = machineText(device, driver.version, formatVersion);
    const choice = chooseCache(undefined, process.env, undefined, "time");
    if ("cache" in choice) this.#cache = choice.cache;
  }

  /** Steps that were measured here, and those whose time was kept from before. */
  get counts(): { readonly measured: number; readonly known: number } {
    return { measured: this.#measured, known: this.#fromCache };
  }

  /** Why times are not kept, if so. */
  get cacheProblem(): string | undefined {
    return this.#cache?.problem;
  }

  /** Of every step of a plan; `load` is asked for a session of it where a time is missing. */
  of(plan: Plan, load: (measure: (session: DeviceSession) => void) => void): StepTime[] {
    const keys = plan.steps.map((step) =>
      stepKey(step, this.#machine, (kernel) => this.#store.identityOf(kernel)),
    );
    const isMissing = keys.some((key) => !this.#isKnown(key));
    if (isMissing) load((session) => this.#measure(session, keys));
    return keys.flatMap((key) => {
      const name = key.toString("hex");
      const times = this.#known.get(name);
      return times === undefined ? [] : [{ key: name, times }];
    });
  }

  #isKnown(key: Buffer): boolean {
    const name = key.toString("hex");
    if (this.#known.has(name)) return true;
    const times = timesIn(this.#cache?.read(key));
    if (times === undefined) return false;
    this.#known.set(name, times);
    this.#fromCache += 1;
    return true;
  }

  #measure(session: DeviceSession, keys: readonly Buffer[]): void {
    for (const [index, step] of session.ready.entries()) {
      const key = keys[index];
      if (key === undefined || this.#isKnown(key)) continue;
      const times = timeStep(session, step);
      this.#known.set(key.toString("hex"), times);
      this.#measured += 1;
      this.#cache?.write(key, Buffer.from(JSON.stringify(times)));
    }
  }
}

/** What times depend on beside a launch; `formatVersion` is of what is written about it. */
export function machineText(device: DeviceInfo, driverVersion: number, formatVersion: number): string {
  const { name, computeCapability, multiprocessors, clockMegahertz, memoryBytesPerSecond } = device;
  const own = { name, computeCapability, multiprocessors, clockMegahertz, memoryBytesPerSecond };
  return JSON.stringify({ formatVersion, ...own, driver: driverVersion });
}

/** What was written; undefined for anything else. */
function timesIn(content: Buffer | undefined): Times | undefined {
  if (content === undefined) return undefined;
  const { median, low, high, repeats }: Partial<Times> = JSON.parse(content.toString("utf8"));
  const isWhole = [median, low, high, repeats].every((value) => Number.isFinite(value));
  if (!isWhole || median === undefined || low === undefined || high === undefined || repeats === undefined)
    return undefined;
  return { median, low, high, repeats };
}
