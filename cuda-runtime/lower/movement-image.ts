/** @file GridSample, AffineGrid, Col2Im. */
import { own } from "../../src/ir/own.ts";
import type { Expr } from "../ir/expr.ts";
import { isFloatStorage } from "../ir/storage.ts";
import { sliced, type View } from "../ir/view.ts";
import { emitCol2Im, maxImageRank } from "../kernels/resize/col2im.ts";
import { emitGridSample, type GridSampleRequest } from "../kernels/resize/grid-sample.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { keptOrder } from "./movement-arguments.ts";

/** Names changed with opset 20. */
const modes: Readonly<Record<string, GridSampleRequest["mode"]>> = {
  nearest: "nearest",
  linear: "linear",
  bilinear: "linear",
  cubic: "cubic",
  bicubic: "cubic",
};

const paddings: Readonly<Record<string, GridSampleRequest["padding"]>> = {
  zeros: "zeros",
  border: "border",
  reflection: "reflection",
};

const gridSample: Lower = (context) => {
  const x = floatInput(context, 0);
  const spatial = x.shape.length - 2;
  if (spatial !== 2 && spatial !== 3) {
    return context.fail(`samples ${spatial} spatial axes, supported are 2 and 3`);
  }
  const named = context.string("mode") ?? "linear";
  const padded = context.string("padding_mode") ?? "zeros";
  const mode =
    own(modes, named) ?? context.fail(`mode is "${named}", supported are ${Object.keys(modes).join(", ")}`);
  const padding =
    own(paddings, padded) ??
    context.fail(`padding_mode is "${padded}", supported are ${Object.keys(paddings).join(", ")}`);
  const alignCorners = context.int("align_corners") === 1;
  const grid = floatInput(context, 1);
  const y = context.output(0, keptOrder(x));
  if (!isFloatStorage(y.type)) return context.fail(`gives ${y.type}, supported are float32 and halves`);
  if (x.shape.includes(0) && !y.shape.includes(0)) return context.fail("samples an empty image");
  emitGridSample(context, { x, grid, y, mode, padding, alignCorners });
};

function floatInput(context: LowerContext, index: number): View {
  const view = context.input(index);
  if (!isFloatStorage(view.type)) context.fail(`takes ${view.type}, supported are float32 and halves`);
  return view;
}

/** theta [N, r, r + 1] and a size give the coordinates [N, …size, r]: an expression over the grid. */
const affineGrid: Lower = (context) => {
  const shape = context.outputShape(0);
  const sizes = shape.slice(1, -1);
  const align = context.int("align_corners") === 1;
  const theta = context.input(0);
  const [rows, columns] = [sizes.length, sizes.length + 1];
  if (theta.shape.length !== 3 || theta.shape[1] !== rows || theta.shape[2] !== columns)
    return context.fail(`has theta [${theta.shape.join(",")}], expected [N,${rows},${columns}]`);
  if (!isFloatStorage(theta.type) && theta.type !== "float64")
    return context.fail(`takes theta of ${theta.type}, supported are floats`);
  const scalar = theta.type === "float64" ? "f64" : "f32";
  // theta[n, k, j] as a view of [N, 1, …, 1, r]: k runs along the grid's last axis.
  const column = (at: number): Expr => {
    const picked = sliced(theta, 2, at, 1);
    const ones = sizes.map(() => 1);
    const [batch = 1, rows = 1] = theta.shape;
    const [batchStride = 0, rowStride = 0] = theta.strides;
    const view = {
      ...picked,
      shape: [batch, ...ones, rows],
      strides: [batchStride, ...ones.map(() => 0), rowStride],
    };
    return { kind: "load", type: scalar, view };
  };
  const terms = sizes.map((size, axis): Expr => {
    // The innermost spatial axis is x, the first coordinate.
    const fromRight = sizes.length - axis;
    const coordinate = gridCoordinate({ size, fromRight, align, type: scalar });
    return { kind: "binary", type: scalar, op: "mul", args: [column(sizes.length - 1 - axis), coordinate] };
  });
  const sum = terms
    .toReversed()
    .reduce<Expr | undefined>(
      (total, term) =>
        total === undefined ? term : { kind: "binary", type: scalar, op: "add", args: [total, term] },
      undefined,
    );
  const shift = column(sizes.length);
  context.setExpr(
    0,
    sum === undefined ? shift : { kind: "binary", type: scalar, op: "add", args: [sum, shift] },
  );
};

/** -1 to 1 along an axis: at the centers of the outermost elements (align), or at their outer edges. */
function gridCoordinate({
  size,
  fromRight,
  align,
  type,
}: {
  readonly size: number;
  readonly fromRight: number;
  readonly align: boolean;
  readonly type: "f32" | "f64";
}): Expr {
  const index: Expr = { kind: "index", type: "i32", axisFromRight: fromRight, size };
  const at: Expr = { kind: "convert", type, arg: index };
  const step = align ? 2 / Math.max(1, size - 1) : 2 / size;
  const start = align ? (size === 1 ? 0 : -1) : 1 / size - 1;
  const scaled: Expr = {
    kind: "binary",
    type,
    op: "mul",
    args: [at, { kind: "constant", type, value: step }],
  };
  return { kind: "binary", type, op: "add", args: [scaled, { kind: "constant", type, value: start }] };
}

const col2Im: Lower = (context) => {
  const columns = floatInput(context, 0);
  const image = context.output(0);
  const sizes = image.shape.slice(2);
  const block = context.knownElements(2);
  if (block.length !== sizes.length)
    context.fail(`has a block of ${block.length} sizes for an image of ${sizes.length} axes`);
  if (sizes.length > maxImageRank) {
    context.fail(`has an image of ${sizes.length} axes, supported are up to ${maxImageRank}`);
  }
  if (!isFloatStorage(image.type)) context.fail(`gives ${image.type}, supported are float32 and halves`);
  const dilations = context.ints("dilations") ?? sizes.map(() => 1);
  const strides = context.ints("strides") ?? sizes.map(() => 1);
  const pads = context.ints("pads") ?? sizes.flatMap(() => [0, 0]);
  const windows = sizes.map((size, axis) => {
    const padded = size + (pads[axis] ?? 0) + (pads[axis + sizes.length] ?? 0);
    const reach = (dilations[axis] ?? 1) * ((block[axis] ?? 1) - 1) + 1;
    return Math.floor((padded - reach) / (strides[axis] ?? 1)) + 1;
  });
  if (windows.some((count) => !(count >= 0 && count < 2 ** 31)))
    context.fail(`has ${windows.join(" x ")} windows of [${block.join(",")}] in [${sizes.join(",")}]`);
  const begins = pads.slice(0, sizes.length);
  emitCol2Im(context, { columns, image, block, dilations, begins, strides, windows });
};

export const imageLowerings: LowerTable = {
  GridSample: gridSample,
  "com.microsoft::GridSample": gridSample,
  AffineGrid: affineGrid,
  Col2Im: col2Im,
};
