/** @file What code-tail.cuh does to one result, by the meaning of its parameters: every number rounded to float32, quotients as divided. */
import { activations } from "../../../cuda-runtime/ir/epilogue.ts";
import { erfValue, roundToEven } from "../../../cuda-runtime/ir/expr-value.ts";
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { activationStruct } from "../../../cuda-runtime/kernels/common/params.table.ts";
import { codeRealsStruct } from "../../../cuda-runtime/kernels/gemm-int8/params.table.ts";
import { type Fields, typeOfCode } from "./code-machine.ts";

const { fround } = Math;
const ofCodes = 1;

/** Element [m, n] of what is stored as `type`; `first` is a code where the graph rounds to codes between. */
export function withTail(
  tail: Fields,
  [m, n]: readonly [number, number],
  first: number,
  type: StorageType,
): number {
  const own =
    tail.int("kind") === ofCodes
      ? realOf(first, tail.within("between", codeRealsStruct))
      : activated(first, tail.within("activation", activationStruct));
  const real = Math.max(fround(own + residualAt(tail, m, n)), tail.float("least"));
  if (type !== "int8" && type !== "uint8") return real;
  const zero = tail.int("zeros") & 0xff;
  const signed = type === "int8" ? (zero << 24) >> 24 : zero;
  const bounded = Math.min(Math.max(real, tail.float("low")), tail.float("high"));
  return roundToEven(fround(bounded / tail.float("scale"))) + signed;
}

/** Of none 0, which changes no number but the sign of a zero. */
function residualAt(tail: Fields, m: number, n: number): number {
  if (tail.view("residual") === undefined) return 0;
  const type = typeOfCode(tail.int("rType"));
  const value = tail.element("residual", m * tail.int("rM") + n, type);
  return type === "int8" || type === "uint8" ? realOf(value, tail.within("added", codeRealsStruct)) : value;
}

/** `base` is above a code as an unsigned byte's digits behind 2^23. */
function realOf(code: number, of: Fields): number {
  const offset = of.int("flip") === 0 ? 0 : 128;
  return fround((2 ** 23 + offset + code - of.float("base")) * of.float("scale"));
}

function activated(x: number, f: Fields): number {
  const code = f.int("kind");
  if (code === activations.none.code) return x;
  if (code === activations.relu.code) return Math.max(x, 0);
  if (code === activations.gelu.code) return fround((x / 2) * (1 + erfValue(x / Math.SQRT2)));
  throw new Error(`no definition of activation ${code}`);
}
