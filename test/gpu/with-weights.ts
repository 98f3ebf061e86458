/** @file An emitter that is told which operands are weights, as the planner tells it. */
import { emitCheapest } from "../../cuda-runtime/cost/candidate.ts";
import type { Emitter } from "../../cuda-runtime/ir/emitter.ts";
import type { View } from "../../cuda-runtime/ir/view.ts";

/**
 * `emitter`, for which `weights` and what is made of them alone are written by no launch of a run, so that kernels ask for them
 * before launches in front are done. A harness waits after each launch: what is made of them is there by then.
 */
export function withWeights(emitter: Emitter, weights: readonly View[]): Emitter {
  const constants = new Set(weights.map(({ buffer }) => buffer));
  const own: Emitter = {
    ...emitter,
    launch(launch) {
      if (launch.reads.length > 0 && launch.reads.every(own.isConstant))
        for (const { buffer } of launch.writes) constants.add(buffer);
      emitter.launch(launch);
    },
    isConstant: (view) => constants.has(view.buffer) || emitter.isConstant(view),
    choose: (question) => emitCheapest(own, question),
  };
  return own;
}
