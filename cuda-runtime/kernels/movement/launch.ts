/** @file What the launches of this family have in common. */
import { maxRank, type ParamWriter } from "../../ir/params.ts";
import type { Launch } from "../../ir/step.ts";
import type { View } from "../../ir/view.ts";
import { divisorOf, type Walk } from "./walk.ts";

const threads = 256;

/** `Walk` of movement.cu: sizes, and what divides by them. */
export function writeWalk(params: ParamWriter, walk: Walk): ParamWriter {
  const sizes = walk.axes.map(({ size }) => size);
  const divisors = sizes.map(divisorOf);
  return params
    .i32(walk.count, walk.axes.length)
    .i32s(sizes, maxRank, 1)
    .i32s(
      divisors.map(({ multiplier }) => multiplier),
      maxRank,
      1,
    )
    .i32s(
      divisors.map(({ shift }) => shift),
      maxRank,
    );
}

interface WalkLaunch {
  readonly entry: string;
  /** One thread each. */
  readonly count: number;
  readonly params: ParamWriter;
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
    params: params.done(),
    reads,
    writes,
  };
}
