/** @file Emits convolutions: which way a request takes. */
import { type Candidate, cheapest } from "../../cost/candidate.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { type FloatStorage, isFloatStorage, isHalfStorage } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { emitDepthwise } from "../depthwise/depthwise.ts";
import type { ConvChoice } from "./choose.ts";
import { type ConvRequest, type Parts, partsFor } from "./operands.ts";
import { emitPatches, patchesMicroseconds, patchesOf } from "./patches.ts";
import { planeChoice, planeMicroseconds } from "./planes.ts";
import { emitPlanes } from "./planes-launch.ts";
import type { PlaneTile } from "./planes-table.ts";
import { emitPointwise } from "./pointwise.ts";
import { choiceOf, emitProduct } from "./product.ts";
import type { ConvMath } from "./table.ts";
import { widened, widenedMicroseconds } from "./widen.ts";

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
  else if (!emitAnotherWay(emitter, parts) && !emitPointwise(emitter, parts)) emitProduct(emitter, parts);
}

/** Over planes, over wide rows or by patches, where one of them is predicted to take less than all that is done otherwise. */
function emitAnotherWay(emitter: Emitter, parts: Parts): boolean {
  const isConstant = emitter.isConstant(parts.request.w);
  const planes = isConstant ? planeChoice(emitter, parts) : undefined;
  const patches = isConstant ? patchesOf(parts) : undefined;
  const ways: (Candidate<() => void> | undefined)[] = [
    planes && { launch: () => emitPlanes(emitter, parts, planes), microseconds: planeMicroseconds(planes) },
    wayOf(widenedMicroseconds(emitter, parts), () => emitProduct(emitter, widened(emitter, parts))),
    patches &&
      wayOf(patchesMicroseconds(emitter, parts, patches), () => emitPatches(emitter, parts, patches)),
  ];
  const best = cheapest(ways.filter((way) => way !== undefined));
  if (best === undefined) return false;
  const whole = choiceOf(parts, emitter.target)?.microseconds ?? 0;
  if (best.microseconds >= whole) return false;
  best.launch();
  return true;
}

function wayOf(microseconds: number | undefined, launch: () => void): Candidate<() => void> | undefined {
  return microseconds === undefined ? undefined : { launch, microseconds };
}

/** With taps of a row as channels, whether that is worth it or not: for measurements and tests. */
export function emitConvWidened(emitter: Emitter, request: ConvRequest): void {
  emitProduct(emitter, widened(emitter, partsOf(emitter, request)));
}

/** As rows of a product, whether that is worth it or not; false where windows do not lie side by side. For measurements and tests. */
export function emitConvPatches(emitter: Emitter, request: ConvRequest): boolean {
  const parts = partsOf(emitter, request);
  const patches = patchesOf(parts);
  if (patches !== undefined) emitPatches(emitter, parts, patches);
  return patches !== undefined;
}

/** Over planes, by a kernel that `accepts` takes. False where there is none. For measurements and tests. */
export function emitConvPlanes(
  emitter: Emitter,
  request: ConvRequest,
  accepts?: (tile: PlaneTile) => boolean,
): boolean {
  const parts = partsOf(emitter, request);
  const choice = planeChoice(emitter, parts, accepts);
  if (choice !== undefined) emitPlanes(emitter, parts, choice);
  return choice !== undefined;
}

function partsOf(emitter: Emitter, request: ConvRequest): Parts {
  return partsFor(request, mathOf(emitter, request));
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
