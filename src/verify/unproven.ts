/**
 * @file Outputs whose budget proves nothing. Half precision is allowed a multiple of what rounding weights and inputs costs: where that
 * turns decisions which an output hangs on (the boxes that are picked, the rows that are looked up), it costs as much as the values are,
 * and any other function would keep to it.
 */
import type { Budget } from "./budget.ts";
import type { Judged } from "./judge.ts";
import type { OutputReport } from "./report.ts";

/** No error of this share of an output's values, or of its decisions, is rounding to half: it comes to hundredths. */
const mostShare = 1 / 4;

/** With outputs that are within their budget, and for no other reason, as not proven. */
export function withUnproven(judged: readonly Judged[], budget: Budget): readonly Judged[] {
  if (budget.kind !== "half") return judged;
  const scales = scalesOf(judged.flatMap(({ outputs }) => outputs));
  return judged.map((each) => ({
    ...each,
    outputs: each.outputs.map((output) =>
      output.same && isBeyond(output, scales.get(output.name))
        ? { ...output, same: false, unproven: true }
        : output,
    ),
  }));
}

interface Scale {
  readonly largest: number;
  readonly rootMeanSquare: number;
  readonly deciding: number;
}

/** Over all runs: where inputs are zero an output may be nothing but noise, which proves as little, and refutes nothing. */
function scalesOf(outputs: readonly OutputReport[]): ReadonlyMap<string, Scale> {
  const scales = new Map<string, Scale>();
  for (const { name, difference, ties } of outputs) {
    const { largest = 0, rootMeanSquare = 0, deciding = 0 } = scales.get(name) ?? {};
    scales.set(name, {
      largest: Math.max(largest, difference?.largest ?? 0),
      rootMeanSquare: Math.max(rootMeanSquare, difference?.rootMeanSquare ?? 0),
      deciding: Math.max(deciding, ties?.largest ?? 0),
    });
  }
  return scales;
}

function isBeyond({ difference, ties }: OutputReport, scale: Scale | undefined): boolean {
  if (difference === undefined || scale === undefined) return false;
  const { maximumError, rootMeanSquareError, mismatches, elements } = difference;
  const beyond = (error: number, size: number) => size > 0 && error > mostShare * size;
  if (ties !== undefined) return beyond(ties.within / 2, scale.deciding);
  return (
    beyond(maximumError, scale.largest) ||
    beyond(rootMeanSquareError, scale.rootMeanSquare) ||
    beyond(mismatches, elements)
  );
}
