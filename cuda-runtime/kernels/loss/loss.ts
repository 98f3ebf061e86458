/** @file Launches of losses over classes. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { storageTypes } from "../../ir/storage.ts";
import { stridesOf, type View } from "../../ir/view.ts";
import { type Axis, checkRank, mergedAxes, productOf, sizesOf, stridesAt } from "../reduce/axes.ts";
import { lossStruct } from "./params.table.ts";

const threads = 256;

export interface LossRequest {
  /** Scores [N, classes, …]. */
  readonly input: View;
  /** [N, …], integers. */
  readonly labels: View;
  /** [classes] */
  readonly weights: View | undefined;
  /** One loss a label, of the labels' shape. */
  readonly losses: View;
  /** The weight of each label, packed in the labels' shape, float32. */
  readonly counts: View | undefined;
  /** The logarithm of the softmax, of the scores' shape. */
  readonly logarithms: View | undefined;
  readonly isSoftmax: boolean;
  /** Labels of this value count nothing. */
  readonly ignored: number | undefined;
}

export function emitLoss(emitter: Emitter, request: LossRequest): void {
  const { input, labels, weights, losses, counts, logarithms } = request;
  const others = (view: View | undefined, at: number) => view?.strides[at === 0 ? 0 : at + 1] ?? 0;
  // `counts` is packed: its strides keep the axes in the labels' order.
  const packed = stridesOf(labels.shape);
  const axes = mergedAxes(
    labels.shape.map((size, at) => ({
      size,
      strides: [
        others(input, at),
        labels.strides[at] ?? 0,
        losses.strides[at] ?? 0,
        others(logarithms, at),
        packed[at] ?? 0,
      ],
    })),
  );
  checkRank(axes);
  const positions = productOf(axes);
  if (positions === 0) return;
  const present = [losses, counts, logarithms].filter((view) => view !== undefined);
  emitter.launch({
    kernel: { kind: "built", family: "loss", entry: "loss_f32" },
    grid: [Math.ceil(positions / (threads / 32)), 1, 1],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params: paramsOf(request, axes),
    reads: weights === undefined ? [input, labels] : [input, labels, weights],
    writes: present,
    detail: `${positions} labels of ${input.shape[1] ?? 1} classes`,
  });
}

function paramsOf(request: LossRequest, axes: readonly Axis[]) {
  const { input, labels, weights, losses, counts, logarithms, ignored } = request;
  return writeParams(lossStruct, {
    x: input,
    labels,
    weights,
    losses,
    counts,
    logarithms,
    rank: axes.length,
    sizes: sizesOf(axes),
    stridesX: stridesAt(axes, 0),
    stridesLabels: stridesAt(axes, 1),
    stridesLosses: stridesAt(axes, 2),
    stridesLogarithms: stridesAt(axes, 3),
    positions: productOf(axes),
    classes: input.shape[1] ?? 1,
    classStrideX: input.strides[1] ?? 0,
    classStrideLogarithms: logarithms?.strides[1] ?? 0,
    strideWeights: weights?.strides[0] ?? 0,
    isSoftmax: request.isSoftmax,
    hasIgnored: ignored !== undefined,
    ignored: ignored ?? 0,
    xType: storageTypes[input.type].code,
    labelType: storageTypes[labels.type].code,
    weightType: storageTypes[weights?.type ?? "float32"].code,
    lossType: storageTypes[losses.type].code,
    logarithmType: storageTypes[logarithms?.type ?? "float32"].code,
  });
}
