/** @file A recurrent layer's time, of those of the sizes around it that were measured. */
import { invariant } from "../ir/errors.ts";
import type { RecurrentWork, Work } from "../ops/work.ts";
import { measuredAround, outside } from "./measured-sizes.ts";
import type { Evaluation } from "./model.ts";
import type { Sketch } from "./sketch.ts";

interface Part {
  readonly evaluation: Evaluation;
  readonly weight: number;
}

export function betweenMeasured(
  work: RecurrentWork<number>,
  sketched: (work: Work<number>) => Sketch,
  evaluated: (sketch: Sketch) => Evaluation,
): Evaluation {
  const parts = measuredAround(work).map(({ of, weight }) => {
    const sketch = sketched(of);
    return { work: of, sketch, evaluation: evaluated(sketch), weight };
  });
  const [first] = parts;
  invariant(first !== undefined, "a layer has neighbours among those that were measured");
  const beyond = outside(work, first.work);
  const factor = beyond === undefined ? 1 : sketched(beyond).microseconds / first.sketch.microseconds;
  return blended(sketched(work), parts, factor);
}

/** Times in proportion on a logarithmic scale, and `factor` on all of them. */
function blended(sketch: Sketch, parts: readonly Part[], factor: number): Evaluation {
  const mean = (of: (evaluation: Evaluation) => number) =>
    parts.reduce((sum, { evaluation, weight }) => sum + weight * of(evaluation), 0);
  const once = factor * Math.exp(mean((each) => Math.log(each.once)));
  return {
    sketch,
    once,
    // What a kernel of a model takes longer than by itself, whatever its size.
    microseconds: once + mean(({ microseconds, once: alone }) => microseconds - alone),
    above: mean(({ above }) => above),
    below: mean(({ below }) => below),
    shared: mean(({ shared }) => shared),
    savingScale: mean(({ savingScale }) => savingScale),
    change: parts[0]?.evaluation.change,
    widening: mean(({ widening }) => widening),
  };
}
