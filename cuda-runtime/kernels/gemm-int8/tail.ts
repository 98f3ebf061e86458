/**
 * @file What kernels for products of codes do behind scale and bias, in registers: the codes that a graph rounds to between a product
 * and its Add, or an activation; a residual of codes or floats; another activation; codes of their own. Each number is rounded
 * as launches of their own would round it (code-tail.cuh).
 */
import { type Activation, type ActivationKind, activations, noActivation } from "../../ir/epilogue.ts";
import type { ValuesOf } from "../../ir/param-table.ts";
import { isFloatStorage, type StorageType, storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { type CodeSum, sumOfCodes } from "./code-sum.ts";
import { type CodeNumbers, codeRange, isCodeType } from "./codes.ts";
import type { codeRealsStruct, codeSumStruct, codeTailStruct } from "./params.table.ts";

export interface CodeTail {
  /** What sums are rounded to first, by the epilogue's zero point and bounds; undefined: they stay floats. */
  readonly between: CodeNumbers | undefined;
  /** Of floats. */
  readonly activation: Activation;
  readonly residual: CodeResidual | undefined;
  /** Behind the residual. */
  readonly hasRelu: boolean;
  /** What the output's codes stand for; undefined: they are floats. */
  readonly to: CodeNumbers | undefined;
}

export interface CodeResidual {
  /** Of the output's shape, unit stride along n. */
  readonly view: View;
  /** Undefined: floats. */
  readonly codes: CodeNumbers | undefined;
}

/** `code` is `TailKind` in code-tail.cuh. */
const kinds = { none: 0, ofCodes: 1, ofFloats: 2 } as const;
const taken: ReadonlySet<ActivationKind> = new Set(["none", "relu", "clip", "silu", "gelu", "geluTanh"]);

/** Whether kernels for codes of these types have one: weights are signed. */
export function hasTail(a: StorageType, b: StorageType): boolean {
  return isCodeType(a) && b === "int8";
}

export function tailTakes({ kind }: Activation): boolean {
  return taken.has(kind);
}

/** Whether division by the scale is exact as kernels divide: nothing on the way is too small or too large for a float. */
export function tailQuantizes({ scale, type, zero }: CodeNumbers): boolean {
  const [least, most] = codeRange(type);
  return scale >= 2 ** -60 && scale <= 2 ** 60 && Number.isInteger(zero) && zero >= least && zero <= most;
}

/** Steps between rows and batches of a view of [batch, m, n]. */
type StepOf = (view: View, axis: number) => number;

/** @param hasBias Whether floats are added to a column's sums. */
export function tailFields(
  tail: CodeTail | undefined,
  hasBias: boolean,
  step: StepOf,
): ValuesOf<typeof codeTailStruct> {
  const residual = tail?.residual;
  return {
    kind: tail === undefined ? kinds.none : tail.between === undefined ? kinds.ofFloats : kinds.ofCodes,
    activation: activationFields(tail?.activation),
    between: realFields(tail?.between),
    residual: residual?.view,
    rBatch: residual === undefined ? 0 : step(residual.view, 0),
    rM: residual === undefined ? 0 : step(residual.view, 1),
    rType: storageTypes[residual?.view.type ?? "float32"].code,
    added: realFields(residual?.codes),
    least: tail?.hasRelu === true ? 0 : Number.NEGATIVE_INFINITY,
    ...quotientFields(tail?.to, tail?.hasRelu === true),
    sum: sumFields(tail === undefined || hasBias ? undefined : sumOfTail(tail)),
  };
}

/** Codes between, a residual of codes, and codes behind it: what most blocks of quantized networks end with. */
export function sumOfTail({ between, residual, to, hasRelu }: CodeTail): CodeSum | undefined {
  if (between === undefined || residual?.codes === undefined || to === undefined) return undefined;
  return sumOfCodes({ own: between, other: residual.codes, to, hasRelu });
}

function sumFields(sum: CodeSum | undefined): ValuesOf<typeof codeSumStruct> {
  return { isKnown: sum !== undefined, ...(sum ?? { own: 0, other: 0, low: 0, high: 0, whole: 0 }) };
}

function activationFields({ kind, a, b }: Activation = noActivation) {
  return { kind: activations[kind].code, a, b };
}

function realFields(codes: CodeNumbers | undefined): ValuesOf<typeof codeRealsStruct> {
  const isSigned = codes?.type === "int8";
  const base = 2 ** 23 + (isSigned ? 128 : 0) + (codes?.zero ?? 0);
  return { scale: codes?.scale ?? 0, base, flip: isSigned ? 0x80808080 : 0 };
}

/** Bounds of codes say Relu: one instruction for each number fewer. */
export function quotientFields(to: CodeNumbers | undefined, hasRelu = false) {
  if (to === undefined) return { scale: 1, inverse: 1, rest: 0, low: 0, high: 0, zeros: 0 };
  const scale = Math.fround(to.scale);
  const inverse = Math.fround(1 / scale);
  const [least, most] = codeRange(to.type);
  return {
    ...{ scale, inverse, rest: (1 - scale * inverse) / scale },
    low: hasRelu ? Math.max(0, (least - to.zero) * scale) : (least - to.zero) * scale,
    high: (most - to.zero) * scale,
    zeros: Math.imul(to.zero & 0xff, 0x01010101) >>> 0,
  };
}

/** Float types, and codes of a byte: what a residual may be stored as. */
export function isTailOperand(type: StorageType): boolean {
  return isFloatStorage(type) || isCodeType(type);
}

/** The bytes of an element that a warp stages before a tail. */
export function stagedBytes(tail: CodeTail): number {
  return tail.between === undefined ? 4 : 1;
}
