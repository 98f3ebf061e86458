/**
 * @file LSTM, GRU and RNN.
 *
 * X [steps,batch,input], W [directions,gates·hidden,input], R [directions,gates·hidden,hidden]; layout 1 swaps the
 * first two axes of X and moves batch to the front of the outputs.
 */

import { type Dim, floorDivDims, type Shape } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { textOf } from "../../ir/message.ts";
import { type CodeProduct, defineOp, type OpContext, type OpDefinition, ShapeError } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { computes, half, type Traits } from "../traits.ts";
import { dimAt, multiplyType, requireRank, sharedOr, sharedType } from "./operands.ts";
import { recurrentAxes, recurrentLane } from "./recurrent-axes.ts";

const directionCounts = new Map([
  ["forward", 1],
  ["reverse", 1],
  ["bidirectional", 2],
]);

interface Sizes {
  readonly steps: Dim;
  readonly batch: Dim;
  readonly inputSize: Dim;
  readonly hiddenSize: Dim;
  readonly directions: number;
  readonly batchFirst: boolean;
}

/** B [directions,2·gates·hidden], which may be left out. */
const biasInput = 3;

export interface RecurrentForm {
  readonly domain: string;
  readonly type: string;
  readonly traits: Traits;
  readonly gates: number;
  /** Outputs behind Y: Y_h, and Y_c of an LSTM. */
  readonly states: number;
  /** W [directions,input,gates·hidden], R [directions,hidden,gates·hidden]. */
  readonly gatesLast?: boolean;
  /** Of the products, where the weights are codes. */
  readonly computeType?: DType;
  readonly codes?: CodeProduct;
}

export function recurrentOp(form: RecurrentForm): OpDefinition {
  const { domain, type, traits, gates, states } = form;
  return defineOp({
    domain,
    type,
    traits,
    product: true,
    infer(context) {
      const sizes = recurrentSizes(context, form);
      const dtype = operandType(context, form);
      const state = tensor(dtype, stateShape(sizes));
      return [tensor(dtype, sequenceShape(sizes)), ...new Array<typeof state>(states).fill(state)];
    },
    work(context) {
      const dtype = form.computeType ?? multiplyType(operandType(context, form));
      if (dtype === undefined) return undefined;
      const { steps, batch, inputSize, hiddenSize, directions } = recurrentSizes(context, form);
      const sizes = { steps, batch, inputSize, hiddenSize, gates, directions };
      const biased = context.inputs[biasInput] === undefined ? {} : ({ biased: true } as const);
      return [{ kind: "recurrent", ...sizes, ...biased, dtype }];
    },
    ...(form.codes && { codes: form.codes }),
    // Codes and turned weights say nothing.
    ...(form.computeType === undefined &&
      form.gatesLast !== true && {
        axes: (context) => recurrentAxes(context, form),
        lanes: (context, output) => recurrentLane(context, output, form),
      }),
  });
}

/** The fifth input counts the steps of each sequence. */
const ofSequences = computes(half(1, 22), { sameSince: 7, uses: { 4: { kind: "count", of: 0, axis: 0 } } });

export const lstm = recurrentOp({ domain: "", type: "LSTM", traits: ofSequences, gates: 4, states: 2 });
export const gru = recurrentOp({ domain: "", type: "GRU", traits: ofSequences, gates: 3, states: 1 });
export const rnn = recurrentOp({ domain: "", type: "RNN", traits: ofSequences, gates: 1, states: 1 });

function operandType(context: OpContext, { computeType }: RecurrentForm): DType | undefined {
  const x = tensorAt(context, 0);
  if (computeType !== undefined) return x.dtype;
  return sharedType("X, W and R", x, tensorAt(context, 1), tensorAt(context, 2));
}

function recurrentSizes(context: OpContext, { gates, gatesLast = false }: RecurrentForm): Sizes {
  const direction = context.string("direction") ?? "forward";
  const directions = directionCounts.get(direction);
  if (directions === undefined)
    throw new ShapeError(textOf`direction "${direction}" is none of its three values`);
  const [x, w, r] = [tensorAt(context, 0), tensorAt(context, 1), tensorAt(context, 2)];
  for (const [fact, what] of [[x, "X"] as const, [w, "W"] as const, [r, "R"] as const]) {
    requireRank(fact, [3], what);
  }
  sharedOr("directions of W and R", directions, dimAt(w.shape, 0), dimAt(r.shape, 0));
  const [gatesAxis, inputAxis] = gatesLast ? [2, 1] : [1, 2];
  const rows = dimAt(w.shape, gatesAxis);
  const hiddenSize = sharedOr(
    "hidden size",
    context.int("hidden_size"),
    dimAt(r.shape, inputAxis),
    rows === undefined ? undefined : floorDivDims(rows, gates),
  );
  const batchFirst = (context.int("layout") ?? 0) !== 0;
  return {
    steps: sharedOr("steps", dimAt(x.shape, batchFirst ? 1 : 0)),
    batch: sharedOr("batch", dimAt(x.shape, batchFirst ? 0 : 1)),
    inputSize: sharedOr("input size of X and W", dimAt(x.shape, 2), dimAt(w.shape, inputAxis)),
    hiddenSize,
    directions,
    batchFirst,
  };
}

function sequenceShape({ steps, batch, hiddenSize, directions, batchFirst }: Sizes): Shape {
  return batchFirst ? [batch, steps, directions, hiddenSize] : [steps, directions, batch, hiddenSize];
}

function stateShape({ batch, hiddenSize, directions, batchFirst }: Sizes): Shape {
  return batchFirst ? [batch, directions, hiddenSize] : [directions, batch, hiddenSize];
}
