/** @file Emits convolutions: which way a request takes. */
import type { Emitter } from "../../ir/emitter.ts";
import { type FloatStorage, isFloatStorage, isHalfStorage } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { emitDepthwise } from "../depthwise/depthwise.ts";
import type { ConvChoice } from "./choose.ts";
import type { ConvRequest, Parts } from "./operands.ts";
import type { Window } from "./params.ts";
import { emitPointwise } from "./pointwise.ts";
import { emitProduct } from "./product.ts";
import { spatialOf, triple } from "./spatial.ts";
import type { ConvMath } from "./table.ts";
import { isWorthWidening, widened } from "./widen.ts";

export type { ConvRequest } from "./operands.ts";

/** `accepts` narrows the choice among the kernels of this family, for measurements and tests. */
export function emitConv(
  emitter: Emitter,
  request: ConvRequest,
  accepts?: (choice: ConvChoice) => boolean,
): void {
  if (elementCount(request.to.shape) === 0) return;
  const parts = partsOf(emitter, request);
  if (request.groups > 1 && parts.channels === 1) emitDepthwise(emitter, request, parts.window);
  else if (accepts !== undefined) emitProduct(emitter, parts, accepts);
  else if (isWorthWidening(emitter, parts)) emitProduct(emitter, widened(emitter, parts));
  else if (!emitPointwise(emitter, parts)) emitProduct(emitter, parts);
}

/** With taps of a row as channels, whether that is worth it or not: for measurements and tests. */
export function emitConvWidened(emitter: Emitter, request: ConvRequest): void {
  emitProduct(emitter, widened(emitter, partsOf(emitter, request)));
}

function partsOf(emitter: Emitter, request: ConvRequest): Parts {
  const w = spatialOf(request.w);
  const window: Window = {
    kernel: w.size,
    stride: triple(request.strides, 1),
    dilation: triple(request.dilations, 1),
    pad: triple(request.pads, 0),
  };
  return {
    request,
    math: mathOf(emitter, request),
    y: spatialOf(request.to),
    w,
    window,
    channels: w.channels,
    filters: w.batch / request.groups,
  };
}

/** TF32 keeps as much of a float32 as float16 does, so it serves whatever is stored as half. */
function mathOf({ target, tf32 }: Emitter, { x, to, operands = floatOf(x) }: ConvRequest): ConvMath {
  const { features } = target;
  if (operands === "float16") return features.half ? "f16" : "f32";
  if (operands === "bfloat16") return features.bf16 ? "bf16" : "f32";
  if (!features.tf32) return "f32";
  return tf32 || isHalfStorage(to.type) ? "tf32" : "f32";
}

function floatOf({ type }: View): FloatStorage {
  if (!isFloatStorage(type)) throw new Error(`tc-lint bug: a convolution of ${type}`);
  return type;
}
