/** @file What the launches of this family have in common. */
import type { ValuesOf } from "../../ir/param-table.ts";
import type { ParamBlock } from "../../ir/params.ts";
import type { Launch } from "../../ir/step.ts";
import type { View } from "../../ir/view.ts";
import type { walkStruct } from "../common/params.table.ts";
import { divisorOf, type Walk } from "./walk.ts";

const threads = 256;

/** Sizes, and what divides by them. */
export function walkFields({ count, axes }: Walk): ValuesOf<typeof walkStruct> {
  const sizes = axes.map(({ size }) => size);
  const divisors = sizes.map(divisorOf);
  return {
    count,
    rank: axes.length,
    sizes,
    multipliers: divisors.map(({ multiplier }) => multiplier),
    shifts: divisors.map(({ shift }) => shift),
  };
}

interface WalkLaunch {
  readonly entry: string;
  /** One thread each. */
  readonly count: number;
  readonly params: ParamBlock;
  readonly reads: readonly View[];
  readonly writes: readonly View[];
  /** Of kernels; "movement" unless given. */
  readonly family?: string;
}

export function walkLaunch({ entry, count, params, reads, writes, family = "movement" }: WalkLaunch): Launch {
  return {
    kernel: { kind: "built", family, entry },
    grid: [Math.ceil(count / threads), 1, 1],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params,
    reads,
    writes,
  };
}
