/**
 * @file NHWC that a file spells and its stack undoes: Transposes at its borders cancel with those inside the calls beside them, and what is between runs in
 * NCHW (docs/adr/0039-layouts-that-a-runtime-undoes.md).
 */
import { intsAttributeIn } from "../facts/attributes.ts";
import { isNhwcCall } from "../facts/nhwc-body.ts";
import { Scope } from "../facts/scope.ts";
import { pushAll } from "../ir/lists.ts";
import type { Node, Value } from "../ir/model.ts";
import { isOp, traitsOf } from "../ops/ask.ts";
import { emitted } from "../ops/emitted.ts";
import type { Fact } from "../ops/op.ts";

import { isCrossed } from "./turned-layout.ts";

export { choosesLayout, layoutSettingOf, undoesLayout } from "../hardware/stacks.ts";

export interface Undone {
  readonly transposes: ReadonlySet<Node>;
  /** The graph, its images as they run. */
  readonly asRun: Scope;
}

/** Of one graph: Transposes that give an image to such calls, or take one from them, whatever is between that a Transpose is moved across. */
export function undoneLayout(scope: Scope): Undone {
  const found = new Set<Node>();
  const calls = scope.graph.nodes.filter(isNhwcCall);
  const seen = new Set<Value>();
  const left = calls.flatMap(imagesOf);
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (seen.has(value)) continue;
    seen.add(value);
    const { producer } = value;
    if (producer !== undefined && isTranspose(producer, toLast, scope)) found.add(producer);
    for (const reader of value.consumers) if (isTranspose(reader, toSecond, scope)) found.add(reader);
    const around = producer === undefined ? value.consumers : [producer, ...value.consumers];
    for (const node of around) if (isWithin(node, scope)) pushAll(left, imagesOf(node));
  }
  return { transposes: found, asRun: seen.size === 0 ? scope : new ScopeAsRun(scope, seen) };
}

class ScopeAsRun extends Scope {
  readonly #base: Scope;
  readonly #turned: ReadonlySet<Value>;

  constructor(base: Scope, turned: ReadonlySet<Value>) {
    super({ model: base.model, graph: base.graph, opsets: base.opsets });
    this.#base = base;
    this.#turned = turned;
  }

  override fact(value: Value): Fact | undefined {
    const fact = this.#base.fact(value);
    if (fact?.kind !== "tensor" || fact.shape?.length !== 4 || !this.#turned.has(value)) return fact;
    const { shape } = fact;
    return { ...fact, shape: [0, 3, 1, 2].flatMap((axis) => shape[axis] ?? []) };
  }
}

const toLast = "0,2,3,1";
const toSecond = "0,3,1,2";

function isTranspose(node: Node, perm: string, scope: Scope): boolean {
  return isOp(node, emitted.Transpose) && String(intsAttributeIn(node, "perm", scope)) === perm;
}

function isWithin(node: Node, scope: Scope): boolean {
  return node.graph === scope.graph && isCrossed[traitsOf(node)?.layout ?? "fixed"];
}

/** Of a call the first input is its image, of other operators any may be. */
function imagesOf(node: Node): Value[] {
  const inputs = isNhwcCall(node) ? node.inputs.slice(0, 1) : node.inputs;
  return [...inputs, ...node.outputs].filter((value) => value !== undefined);
}
