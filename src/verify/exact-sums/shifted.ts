/**
 * @file A model whose products of codes add up exactly on any CPU.
 *
 * Without VNNI, ONNX Runtime multiplies uint8 by int8 with instructions that add two products into 16 bits and saturate there; of
 * codes of one type it keeps 32 bits throughout. The int8 operand of such a product is thus given as uint8: codes and zero point 128
 * higher, of which every difference, and so every sum, is the same number.
 */
import { inferFacts } from "../../facts/infer.ts";
import type { Scope } from "../../facts/scope.ts";
import { type Graph, labelOf, type Model, type Node, type Value } from "../../ir/model.ts";
import { FreshNames } from "../../ir/names.ts";
import { nodesOf } from "../../ir/nodes.ts";
import { type NodeSpec, Patch } from "../../ir/patch.ts";
import { isDequantizing } from "../../ops/ask.ts";
import type { CodesAt } from "../../ops/op.ts";
import { findOp } from "../../ops/registry.ts";
import { castNode, sumNode } from "../../ops/written.ts";
import { storedAs } from "../tensor.ts";

export interface Shifted {
  readonly patch: Patch;
  /** Products of codes whose types cannot be told before the model runs, by label: left as they are. */
  readonly unknown: readonly string[];
}

/** From what int8 begins at to what uint8 does. */
const offset = 128;

/** Gives every int8 operand that meets uint8 as uint8; empty where none does. Throws InputError as `inferFacts` does. */
export function shiftCodes(model: Model): Shifted {
  const patch = new Patch();
  if (![...nodesOf(model)].some((node) => isDequantizing(node) || codesOf(node) !== undefined))
    return { patch, unknown: [] };
  const [shifts, unknown] = [new Map<Node, Shift>(), new Set<string>()];
  const scopes = [...inferFacts(model).scopes()];
  for (const scope of scopes) {
    for (const node of scope.graph.nodes) {
      for (const found of mixedIn(node, scope)) {
        if (found === "unknown") unknown.add(labelOf(node));
        else addShift(shifts, found);
      }
    }
  }
  for (const node of changing(shifts, scopes)) {
    shifts.delete(node);
    unknown.add(labelOf(node));
  }
  const writer = new ShiftWriter(model, patch);
  for (const shift of shifts.values()) writer.write(shift);
  return { patch, unknown: [...unknown] };
}

/** Operands of one node to shift, by the position of their codes. */
interface Shift {
  readonly node: Node;
  readonly graph: Graph;
  readonly operands: Map<number, Operand>;
}

interface Operand extends CodesAt {
  /** Of a zero point that is left out. */
  readonly zeroDims: readonly number[];
}

interface Found {
  readonly node: Node;
  readonly scope: Scope;
  readonly at: CodesAt;
}

function addShift(shifts: Map<Node, Shift>, { node, scope, at }: Found): void {
  const shift = shifts.get(node) ?? { node, graph: scope.graph, operands: new Map<number, Operand>() };
  shifts.set(node, shift);
  const scales = at.scale === undefined ? undefined : scope.shape(node.inputs[at.scale]);
  const dims = scales?.every((dim) => typeof dim === "number") === true ? scales : [];
  shift.operands.set(at.codes, { ...at, zeroDims: dims });
}

/** Nodes of function bodies that one call gives int8, and another something else. */
function changing(shifts: ReadonlyMap<Node, Shift>, scopes: readonly Scope[]): readonly Node[] {
  return scopes.flatMap((scope) =>
    scope.graph.nodes.filter((node) => {
      const operands = [...(shifts.get(node)?.operands.keys() ?? [])];
      return operands.some((at) => typeOf(node.inputs[at], scope) !== "int8");
    }),
  );
}

function mixedIn(node: Node, scope: Scope): readonly (Found | "unknown")[] {
  return codesOf(node) === undefined ? mixedBetween(node, scope) : mixedOperands(node, scope);
}

/** Of a product of codes. */
function mixedOperands(node: Node, scope: Scope): readonly (Found | "unknown")[] {
  const codes = codesOf(node);
  if (codes === undefined) return [];
  const { activation, weights } = codes;
  const left = activation === "uint8" ? activation : typeOf(node.inputs[activation.codes], scope);
  return weights.flatMap((weight): (Found | "unknown")[] => {
    const right = typeOf(node.inputs[weight.codes], scope);
    if (left === undefined || right === undefined) return ["unknown"];
    if (left === "uint8" && right === "int8") return [{ node, scope, at: weight }];
    const isOther = left === "int8" && right === "uint8" && activation !== "uint8";
    return isOther ? [{ node, scope, at: activation }] : [];
  });
}

const ofDequantizing: CodesAt = { codes: 0, scale: 1, zero: 2 };

/** Of a product between DequantizeLinear, which ONNX Runtime makes one of codes: the node that gives its int8 operand. */
function mixedBetween(node: Node, scope: Scope): readonly Found[] {
  const op = findOp(node.domain, node.opType);
  if (op?.product !== true) return [];
  const [first, second] = op.operands ?? [0, 1];
  const behind = [node.inputs[first]?.producer, node.inputs[second]?.producer].filter(isDequantizing);
  const types = behind.map((each) => typeOf(each?.inputs[0], scope));
  if (!types.includes("uint8")) return [];
  return behind.flatMap((each, index) => {
    const home = each?.outputs[0] === undefined ? undefined : scope.scopeOf(each.outputs[0]);
    if (types[index] !== "int8" || each === undefined || home === undefined) return [];
    return [{ node: each, scope: home, at: ofDequantizing }];
  });
}

class ShiftWriter {
  readonly #patch: Patch;
  readonly #names: FreshNames;

  constructor(model: Model, patch: Patch) {
    this.#patch = patch;
    this.#names = new FreshNames(model);
  }

  write({ node, graph, operands }: Shift): void {
    const before: NodeSpec[] = [];
    const inputs = node.inputs.map((value) => value?.name ?? "");
    for (const { codes, zero, zeroDims } of operands.values()) {
      while (inputs.length <= zero) inputs.push("");
      inputs[codes] = this.#higher(graph, inputs[codes] ?? "", before);
      const stated = inputs[zero] ?? "";
      inputs[zero] =
        stated === "" ? this.#stored(graph, "uint8", zeroDims) : this.#higher(graph, stated, before);
    }
    this.#patch.of(graph).nodes.set(node, [...before, { base: node, inputs }]);
  }

  /** The same codes as uint8. */
  #higher(graph: Graph, codes: string, before: NodeSpec[]): string {
    const make = (suffix: string) => this.#names.make(`${codes}_${suffix}`);
    const [wide, sum, result] = [make("wide"), make("higher"), make("unsigned")];
    before.push(
      castNode(codes, wide, "int32"),
      sumNode(wide, this.#stored(graph, "int32", []), sum),
      castNode(sum, result, "uint8"),
    );
    return result;
  }

  /** A stored tensor of the offset. */
  #stored(graph: Graph, dtype: "uint8" | "int32", dims: readonly number[]): string {
    const name = this.#names.make("codes_offset");
    const count = dims.reduce((product, size) => product * size, 1);
    this.#patch.of(graph).added.set(name, storedAs(dtype, dims, new Uint8Array(count).fill(offset)));
    return name;
  }
}

function codesOf({ domain, opType }: Node) {
  return findOp(domain, opType)?.codes;
}

function typeOf(value: Value | undefined, scope: Scope) {
  const fact = value === undefined ? undefined : scope.fact(value);
  return fact?.kind === "tensor" ? fact.dtype : undefined;
}
