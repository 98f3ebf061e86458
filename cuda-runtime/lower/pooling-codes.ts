/** @file Averages of quantized codes: as numbers, then as codes again. */

import type { Expr } from "../ir/expr.ts";
import {
  add,
  binary,
  convert,
  divide,
  like,
  load,
  multiply,
  narrow,
  subtract,
  unary,
} from "../ir/expr-build.ts";
import { scalarOf } from "../ir/scalar.ts";
import type { StorageType } from "../ir/storage.ts";
import { channelsSecond, type View } from "../ir/view.ts";
import { emitGlobalPool, emitPool } from "../kernels/pool/pool.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { slidingWindow } from "./conv-window.ts";
import { operand } from "./elementwise-operands.ts";

const codeRanges: Readonly<Partial<Record<StorageType, readonly [number, number]>>> = {
  int8: [-128, 127],
  uint8: [0, 255],
};

/** x, its scale and zero point, scale and zero point of y: all but x of one element. */
function averagePool(isWhole: boolean, isLast: (context: LowerContext) => boolean): Lower {
  return (context) => {
    const type = context.outputType(0);
    const range = codeRanges[type] ?? context.fail(`has an input of ${type}; int8 and uint8 are supported`);
    const number = (index: number) => convert("f32", operand(context, index));
    const zero = (index: number, x: Expr) => (context.hasInput(index) ? number(index) : like(x, 0));
    const code = convert("f32", operand(context, 0));
    const real = multiply(subtract(code, zero(2, code)), number(1));
    const turned = (view: View) => (isLast(context) ? channelsSecond(view) : view);
    const x = turned(context.evaluate(real, context.inputShape(0), "float32"));
    const means = context.temporary("float32", context.outputShape(0));
    const to = turned(means);
    if (isWhole) {
      emitGlobalPool(context, { kind: "average", x, to });
    } else {
      const kernel = context.ints("kernel_shape") ?? context.fail("the attribute kernel_shape is missing");
      const countPads = (context.int("count_include_pad") ?? 0) === 1;
      emitPool(context, {
        kind: "average",
        x,
        to,
        ...slidingWindow(context, kernel, x.shape.slice(2)),
        countPads,
      });
    }
    const scaled = unary("round", divide(load(means), number(3)));
    const moved = add(scaled, zero(4, scaled));
    const bounded = binary("min", binary("max", moved, like(moved, range[0])), like(moved, range[1]));
    const whole = convert(scalarOf(type), convert("i32", bounded));
    context.setExpr(0, narrow(type === "int8" ? "int8" : "uint8", whole));
  };
}

const isStatedLast = (context: LowerContext) => (context.int("channels_last") ?? 0) !== 0;

export const codePoolingLowerings: LowerTable = {
  "com.microsoft::QLinearAveragePool": averagePool(false, isStatedLast),
  "com.microsoft::QLinearGlobalAveragePool": averagePool(true, isStatedLast),
  "com.ms.internal.nhwc::QLinearAveragePool": averagePool(false, () => true),
};
