/** @file Losses over classes: scores [N, C, …], labels [N, …]. */

import type { Shape } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, type OpContext, type OpDefinition, ShapeError } from "../op.ts";
import { tensor, tensorAt, unify } from "../shape.ts";
import { noHalf } from "../traits.ts";

const negativeLogLikelihood = defineOp({
  domain: "",
  type: "NegativeLogLikelihoodLoss",
  traits: { elements: "computed", half: noHalf({ isMixed: true }), layout: "fixed" },
  infer: (context) => [tensor(tensorAt(context, 0).dtype, lossShape(context))],
  traffic: "elementwise",
});

/** The second output is the logarithm of the softmax. */
const softmaxCrossEntropy = defineOp({
  domain: "",
  type: "SoftmaxCrossEntropyLoss",
  traits: { elements: "computed", half: noHalf({ isMixed: true }), layout: "fixed" },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    return [tensor(dtype, lossShape(context)), tensor(dtype, shape)];
  },
  traffic: "normalization",
});

/** One loss a label with reduction "none", else a scalar. */
function lossShape(context: OpContext): Shape | undefined {
  const scores = tensorAt(context, 0).shape;
  const labels = tensorAt(context, 1).shape;
  if (scores !== undefined && labels !== undefined && scores.length !== labels.length + 1) {
    throw new ShapeError(textOf`labels have rank ${labels.length}, expected ${scores.length - 1}`);
  }
  const ofScores = scores && [...scores.slice(0, 1), ...scores.slice(2)];
  const each = labels?.map((size, axis) =>
    unify(ofScores?.[axis] ?? size, size, `axis ${axis} of the labels`),
  );
  return context.string("reduction") === "none" ? (each ?? ofScores) : [];
}

export const lossOps: readonly OpDefinition[] = [negativeLogLikelihood, softmaxCrossEntropy];
