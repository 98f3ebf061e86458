/** @file What contests between kernels came to, kept for the next process beside the times of steps. */
import { createHash } from "node:crypto";
import type { DeviceContext } from "../../../cuda-runtime/driver/context.ts";
import type { StepsAlone } from "../../../cuda-runtime/plan/alone.ts";
import type { CubinCache } from "../../../cuda-runtime/session/cubin-cache.ts";
import { chooseCache } from "../../../cuda-runtime/session/cubin-folder.ts";
import type { KernelStore } from "../../../cuda-runtime/session/store.ts";
import { stepKey } from "../prove/step-key.ts";
import { machineText } from "../prove/step-times.ts";

/** Of what is written, and of how it is measured: another number is another meaning. */
const formatVersion = 1;

export interface Verdict {
  /** Index among the contenders. */
  readonly winner: number;
  /** Medians of all contenders. */
  readonly microseconds: readonly number[];
}

export class Verdicts {
  readonly #cache: CubinCache | undefined;
  readonly #machine: string;
  readonly #store: KernelStore;

  constructor({ device, driver }: DeviceContext, store: KernelStore) {
    this.#store = store;
    this.#machine = machineText(device, driver.version, formatVersion);
    const choice = chooseCache(undefined, process.env, undefined, "time");
    if ("cache" in choice) this.#cache = choice.cache;
  }

  /** Why verdicts are not kept, if so. */
  get problem(): string | undefined {
    return this.#cache?.problem;
  }

  /** By the GPU, and the machine code and parameters of every launch of every contender, in their order. */
  keyOf(contenders: readonly StepsAlone[]): Buffer {
    const identityOf = this.#store.identityOf.bind(this.#store);
    const launches = contenders.map(({ steps }) =>
      steps.map((step) => stepKey(step, this.#machine, identityOf).toString("hex")),
    );
    return createHash("sha256")
      .update(JSON.stringify(["contest", launches]))
      .digest();
  }

  read(key: Buffer, contenders: number): Verdict | undefined {
    const content = this.#cache?.read(key);
    return content === undefined ? undefined : verdictIn(content, contenders);
  }

  write(key: Buffer, verdict: Verdict): void {
    this.#cache?.write(key, Buffer.from(JSON.stringify(verdict)));
  }
}

/** What was written; undefined for anything else. */
export function verdictIn(content: Buffer, contenders: number): Verdict | undefined {
  const { winner, microseconds }: Partial<Verdict> = JSON.parse(content.toString("utf8"));
  if (winner === undefined || !Number.isInteger(winner) || winner < 0 || winner >= contenders)
    return undefined;
  if (!Array.isArray(microseconds) || microseconds.length !== contenders) return undefined;
  return microseconds.every((each) => Number.isFinite(each)) ? { winner, microseconds } : undefined;
}
