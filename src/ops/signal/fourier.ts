/** @file Fourier transforms, and the windows and weights that go with them. */

import {
  addDims,
  type Dim,
  floorDivDims,
  isUnknown,
  mulDims,
  type Shape,
  subDims,
  unknownDim,
} from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, type OpContext, type OpDefinition, ShapeError } from "../op.ts";
import { dtypeOr } from "../random/random.ts";
import { withSize } from "../reduction/axes.ts";
import { normalizeAxis, numbersAt, tensor, tensorAt, unknownShape } from "../shape.ts";
import { scalarSize } from "../size.ts";
import { computes, half, losesDigits, noHalf } from "../traits.ts";
import { windowOutput } from "../window.ts";

/** Distinct bins of the transform of a real signal of `length` samples. */
function uniqueBins(length: Dim): Dim {
  return addDims(floorDivDims(length, 2), 1);
}

/** Signal […, 1 or 2] to […, 2], transformed along one axis. One-sided: half the bins, or back from them. */
const dft = defineOp({
  domain: "",
  type: "DFT",
  traits: {
    elements: "computed",
    half: half(17, 17, { risk: losesDigits("a transform over many terms"), isWide: true }),
    layout: "fixed",
    sameSince: 20,
  },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    if (shape === undefined) return [tensor(dtype, shape)];
    const oneSided = context.int("onesided") === 1;
    const inverse = context.int("inverse") === 1;
    const last = oneSided && inverse ? 1 : 2;
    const axis = transformedAxis(context, shape.length);
    if (axis === undefined) return [tensor(dtype, [...unknownShape(shape.length - 1), last])];
    const length = transformLength(context, shape[axis] ?? unknownDim(), oneSided && inverse);
    const size = oneSided && !inverse ? uniqueBins(length) : length;
    return [tensor(dtype, withSize(withSize(shape, axis, size), shape.length - 1, last))];
  },
});

/** An attribute before opset 20, an input since; undefined where the input is not known. */
function transformedAxis(context: OpContext, rank: number): number | undefined {
  const named =
    context.opset < 20
      ? (context.int("axis") ?? 1)
      : context.inputs[2] === undefined
        ? -2
        : numbersAt(context, 2)?.[0];
  if (named === undefined) return undefined;
  const axis = normalizeAxis(named, rank);
  if (axis === rank - 1) throw new ShapeError(textOf`axis ${named} is the one of real and imaginary parts`);
  return axis;
}

/** Without an explicit length: that of the axis, or of the signal whose unique bins the axis holds. */
function transformLength(context: OpContext, size: Dim, fromBins: boolean): Dim {
  if (context.inputs[1] !== undefined) return scalarSize(context, 1, "dft_length");
  return fromBins ? mulDims(subDims(size, 1), 2) : size;
}

/** Signal [N, length(, 1 or 2)] to [N, frames, bins, 2]. */
const stft = defineOp({
  domain: "",
  type: "STFT",
  traits: {
    elements: "computed",
    half: half(17, 17, { risk: losesDigits("a transform over many terms"), isWide: true }),
    layout: "fixed",
    sameSince: 17,
  },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    const [batch = unknownDim(), signal = unknownDim()] = shape ?? [];
    const frame = frameLength(context, signal);
    const step = numbersAt(context, 1)?.[0];
    if (step !== undefined && !(Number.isSafeInteger(step) && step > 0)) {
      throw new ShapeError(textOf`frame_step is ${step}, expected at least 1`);
    }
    const bins = context.int("onesided") === 0 ? frame : uniqueBins(frame);
    const known = step !== undefined && !isUnknown(signal) && !isUnknown(frame);
    const frames = known ? windowOutput(signal, frame, step, 1, 0, 0) : unknownDim();
    return [tensor(dtype, [batch, frames, bins, 2])];
  },
});

function frameLength(context: OpContext, signal: Dim): Dim {
  if (context.inputs[3] !== undefined) return scalarSize(context, 3, "frame_length");
  if (context.inputs[2] === undefined) return signal;
  return tensorAt(context, 2).shape?.[0] ?? unknownDim();
}

const windows = ["HannWindow", "HammingWindow", "BlackmanWindow"].map((type) =>
  defineOp({
    domain: "",
    type,
    traits: computes(noHalf({ isMixed: true }), { sameSince: 17 }),
    infer: (context) => [
      tensor(dtypeOr(context, "output_datatype", "float32"), [scalarSize(context, 0, "size")]),
    ],
    traffic: "none",
  }),
);

/** Weights [bins of a one-sided transform, mel bands]. */
const melWeightMatrix = defineOp({
  domain: "",
  type: "MelWeightMatrix",
  traits: {
    elements: "computed",
    half: noHalf({ isMixed: true, isWide: true }),
    layout: "fixed",
    sameSince: 17,
  },
  infer(context) {
    const bins = uniqueBins(scalarSize(context, 1, "dft_length"));
    const shape: Shape = [bins, scalarSize(context, 0, "num_mel_bins")];
    return [tensor(dtypeOr(context, "output_datatype", "float32"), shape)];
  },
  traffic: "none",
});

export const fourierOps: readonly OpDefinition[] = [dft, stft, ...windows, melWeightMatrix];
