/**
 * @file Convolutions of codes of few channels (stems) over planes. What codes are above their zero point are whole halves, and sums of few
 * products of them whole floats, so that these kernels make what integer Tensor Cores do; zeros around the image are the zero point.
 */
import type { Emitter } from "../../ir/emitter.ts";
import { plainEpilogue } from "../../ir/epilogue.ts";
import { load } from "../../ir/expr-build.ts";
import type { CodeWindow } from "../gemm-int8/code-product.ts";
import { isCodeType } from "../gemm-int8/codes.ts";
import { partsFor } from "./operands.ts";
import { choiceAmong, isOfImage } from "./planes.ts";
import { emitPlanes, type PlaneCodes } from "./planes-launch.ts";
import type { PlaneTile } from "./planes-table.ts";

/** Products of a difference of codes of x and a code of w that a float adds up as whole numbers. */
const mostProducts = 2 ** 24 / (255 * 128);
/** Codes that are stored at once. */
const stored = 16;

/** Whether it was launched: where w holds int8, and y codes. `accepts` narrows the choice, for tests. */
export function emitCodePlanes(
  emitter: Emitter,
  window: CodeWindow,
  codes: PlaneCodes,
  accepts: (tile: PlaneTile) => boolean = () => true,
): boolean {
  const { x, w, to } = window;
  const [filters = 1, ...ofFilter] = w.shape;
  const products = ofFilter.reduce((all, size) => all * size, 1);
  const isExact = products <= mostProducts && w.type === "int8";
  const steps = to.strides.filter((_, axis) => axis !== 1 && (to.shape[axis] ?? 1) > 1);
  const isStored = to.strides[1] === 1 && [filters, to.offset, ...steps].every((each) => each % stored === 0);
  if (!emitter.target.features.wgmma || !isExact || !isStored || !isCodeType(to.type)) return false;
  if (x.type !== "float32" && !isCodeType(x.type)) return false;
  const halves = { ...window, w: emitter.evaluate(load(w, "f32"), w.shape, "float16") };
  const parts = partsFor({ ...halves, groups: 1, epilogue: plainEpilogue }, "f16");
  const isCodes = (tile: PlaneTile) => tile.math === "codes" && accepts(tile);
  const choice = isOfImage(parts) ? choiceAmong(parts, isCodes, emitter.target) : undefined;
  if (choice !== undefined) emitPlanes(emitter, parts, choice, codes);
  return choice !== undefined;
}
