/** @file Cast and CastLike: between any two types that are stored. */
import { dtypeOfCode } from "../../src/ir/dtype.ts";
import { textOf } from "../../src/ir/message.ts";
import type { Expr } from "../ir/expr.ts";
import { convert, narrow } from "../ir/expr-build.ts";
import { scalarOf } from "../ir/scalar.ts";
import { decoded, encoded } from "../ir/small-float-expr.ts";
import { isCodeStorage, isHalfStorage } from "../ir/storage.ts";
import type { LowerContext, LowerTable } from "./context.ts";
import { onOne } from "./elementwise-operands.ts";

function cast(x: Expr, context: LowerContext): Expr {
  const [from, type] = [context.inputType(0), context.outputType(0)];
  if (from === type && isCodeStorage(type)) return x;
  const number = isCodeStorage(from) ? decoded(from, x) : x;
  const rounding = context.string("round_mode") ?? "up";
  if (type === "float8e8m0" && rounding !== "up")
    return context.fail(textOf`rounds scales of blocks ${rounding}, supported is up`);
  if (isCodeStorage(type)) return encoded(type, number, (context.int("saturate") ?? 1) !== 0);
  return convert(scalarOf(type), number);
}

/** Halves that are stored wider are rounded as the model's own would be. */
function castTo(x: Expr, context: LowerContext): Expr {
  const to = dtypeOfCode(context.int("to") ?? 0);
  const value = cast(x, context);
  const isRounded = (to === "float16" || to === "bfloat16") && !isHalfStorage(context.outputType(0));
  return isRounded ? narrow(to, value) : value;
}

export const castLowerings: LowerTable = { Cast: onOne(castTo), CastLike: onOne(cast) };
