/** @file Stored tensors in NHWC order: weights, and constants that broadcast. */
import { bytesOf, type DType, dtypes } from "../../ir/dtype.ts";
import type { TensorRef } from "../../ir/model.ts";
import type { TensorSpec } from "../../ir/patch.ts";
import { LazyBytes } from "../lazy-bytes.ts";
import type { PassContext } from "../pass.ts";
import { toNhwc } from "./functions.ts";
import { NhwcTensor } from "./nhwc-tensor.ts";

/** Elements that can be moved one by one. */
export function canTurn(dtype: DType | undefined): dtype is DType {
  return dtype !== undefined && dtypes[dtype].bits >= 8;
}

/** A stored tensor of up to four axes, in NHWC order: of four if it has fewer. Read when it is written. */
export function nhwcTensor(stored: TensorRef, context: PassContext): TensorSpec {
  const { dtype } = stored;
  if (!canTurn(dtype)) throw new Error(`tc-lint bug: tensor "${stored.name}" cannot be turned`);
  const dims = [...new Array<number>(4 - stored.dims.length).fill(1), ...stored.dims];
  const [outer = 1, channels = 1, height = 1, width = 1] = dims;
  const sizes = { outer, channels, positions: height * width, elementBytes: bytesOf(dtype, 1) };
  const moved = toNhwc.map((axis) => dims[axis] ?? 1);
  const bytes = new LazyBytes(dtype, moved, () => new NhwcTensor(context.open(stored), sizes));
  return { dtype, dims: moved, bytes };
}
