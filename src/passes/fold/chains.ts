/** @file Two nodes in a row of which the first is not needed: Transposes, views, Casts. */
import { type DType, dtypeOfCode, dtypes } from "../../ir/dtype.ts";
import type { Node } from "../../ir/model.ts";
import { emitted } from "../../ops/emitted.ts";
import { simplifyTarget } from "./constants.ts";
import type { Draft } from "./draft.ts";
import { isReshaping, permOf } from "./identities.ts";

/** Changes the node to read from further up. Whether it did. */
type ChainRule = (draft: Draft, node: Node) => boolean;

const chains: Readonly<Record<string, ChainRule>> = {
  Cast: skipCast,
  Reshape: (draft, node) => simplifyTarget(draft, node) || skipView(draft, node),
  Transpose: joinTransposes,
};

export const shorten: ChainRule = (draft, node) => {
  const type = draft.opTypeOf(node);
  return Object.hasOwn(chains, type) && chains[type]?.(draft, node) === true;
};

/** The node that makes the first input, of one of some operators, and what it reads. */
function before(
  draft: Draft,
  node: Node,
  isOfType: (type: string) => boolean,
): { readonly first: Node; readonly source: string } | undefined {
  const first = draft.producerOf(draft.inputsOf(node)[0] ?? "");
  if (first === undefined || !draft.isStandard(first) || !isOfType(draft.opTypeOf(first))) return undefined;
  const [source] = draft.inputsOf(first);
  return source === undefined ? undefined : { first, source };
}

function joinTransposes(draft: Draft, node: Node): boolean {
  const found = before(draft, node, (type) => type === emitted.Transpose);
  const inner = found && permOf(draft, found.first);
  const outer = permOf(draft, node);
  if (found === undefined || inner === undefined || outer === undefined) return false;
  draft.setAttribute(node, "perm", { type: "ints", values: outer.map((axis) => inner[axis] ?? axis) });
  draft.setInput(node, 0, found.source);
  return true;
}

/** A target without zeros says all about the result; a zero would copy a size of the view that goes. */
function skipView(draft: Draft, node: Node): boolean {
  const found = before(draft, node, isReshaping);
  const target = draft.numbersOf(draft.inputsOf(node)[1]);
  if (found === undefined || target === undefined || target.includes(0)) return false;
  draft.setInput(node, 0, found.source);
  return true;
}

function skipCast(draft: Draft, node: Node): boolean {
  const found = before(draft, node, (type) => type === emitted.Cast);
  if (found === undefined) return false;
  const from = draft.factOf(found.source).dtype;
  const between = draft.factOf(draft.inputsOf(node)[0]).dtype;
  const to = dtypeOfCode(draft.int(node, "to") ?? 0);
  if (from === undefined || between === undefined || to === undefined || !holdsAll(between, from))
    return false;
  // What becomes of a float outside an integer's range is up to the conversion, so that one stays.
  if (from !== to && !isNumeric(to)) return false;
  if (from !== to && dtypes[from].kind === "float" && dtypes[to].kind !== "float") return false;
  draft.setInput(node, 0, found.source);
  return true;
}

/** Significand bits, the leading one counted, and exponent bits. */
const floats: Partial<Record<DType, readonly [significand: number, exponent: number]>> = {
  float16: [11, 5],
  bfloat16: [8, 8],
  float32: [24, 8],
  float64: [53, 11],
};

function isNumeric(dtype: DType): boolean {
  const { kind } = dtypes[dtype];
  return kind === "bool" || kind === "int" || kind === "uint" || floats[dtype] !== undefined;
}

/** Whether every value of `inner` is a value of `outer`. */
export function holdsAll(outer: DType, inner: DType): boolean {
  if (outer === inner) return true;
  if (!isNumeric(outer) || !isNumeric(inner)) return false;
  const [target, source] = [floats[outer], floats[inner]];
  if (source !== undefined) {
    return target !== undefined && target[0] >= source[0] && target[1] >= source[1];
  }
  const magnitude = magnitudeBits(inner);
  if (target !== undefined) return magnitude <= target[0];
  if (dtypes[inner].kind === "int" && dtypes[outer].kind !== "int") return false;
  return magnitude <= magnitudeBits(outer);
}

/** Bits of the largest magnitude of an integer type. */
function magnitudeBits(dtype: DType): number {
  const { kind, bits } = dtypes[dtype];
  if (kind === "bool") return 1;
  return kind === "int" ? bits - 1 : bits;
}
