/** @file An activation behind a value, by what it is called or written out in small operators: recognised by its values, not by how it is spelled. */
import { stringAttributeIn } from "../../src/facts/attributes.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { own } from "../../src/ir/own.ts";
import { matchActivation } from "../ir/activation-match.ts";
import { type Activation, noActivation } from "../ir/epilogue.ts";
import type { Expr } from "../ir/expr.ts";
import { binary, constant, load, unary } from "../ir/expr-build.ts";
import type { View } from "../ir/view.ts";
import { tailTakes } from "../kernels/gemm-int8/tail.ts";
import type { PatternGraph } from "./graph.ts";

/** What exporters spell GELU and SiLU with. */
const operators: Readonly<Record<string, (a: Expr, b: Expr | undefined) => Expr | undefined>> = {
  Add: (a, b) => b && binary("add", a, b),
  Sub: (a, b) => b && binary("sub", a, b),
  Mul: (a, b) => b && binary("mul", a, b),
  Div: (a, b) => b && binary("div", a, b),
  Erf: (a) => unary("erf", a),
  Tanh: (a) => unary("tanh", a),
  Sigmoid: (a) => unary("sigmoid", a),
};
const mostNodes = 12;

interface ActivationMatch {
  readonly activation: Activation;
  readonly value: Value;
  readonly nodes: readonly Node[];
}

/** The longest that a tail takes, of which nothing between is read elsewhere. */
export function activationBehind(value: Value, graph: PatternGraph): ActivationMatch | undefined {
  const named = geluBehind(value, graph);
  if (named !== undefined) return named;
  const leaf = leafOf(value);
  const exprs = new Map<Value, Expr>([[value, leaf]]);
  const nodes: Node[] = [];
  let best: ActivationMatch | undefined;
  const pending = [...graph.readersOf(value)];
  for (let node = pending.shift(); node !== undefined && nodes.length < mostNodes; node = pending.shift()) {
    const [output] = node.outputs;
    const expr = nodes.includes(node) ? undefined : exprOf(node, exprs, graph);
    if (output === undefined || expr === undefined) continue;
    exprs.set(output, expr);
    nodes.push(node);
    for (const reader of graph.readersOf(output)) pending.push(reader);
    const activation =
      graph.closed(nodes, output) && closes(value, nodes, graph) ? matchActivation(expr, leaf) : undefined;
    if (activation !== undefined && activation !== noActivation && tailTakes(activation))
      best = { activation, value: output, nodes: [...nodes] };
  }
  return best;
}

/** Nobody else reads the value. */
function closes(value: Value, nodes: readonly Node[], graph: PatternGraph): boolean {
  return !value.isOutput && graph.readersOf(value).every((reader) => nodes.includes(reader));
}

function geluBehind(value: Value, graph: PatternGraph): ActivationMatch | undefined {
  const node = graph.onlyReader(value);
  const [output] = node?.outputs ?? [];
  if (node === undefined || output === undefined || operatorOf(node) !== "Gelu") return undefined;
  const isTanh = stringAttributeIn(node, "approximate", graph.scope) === "tanh";
  return { activation: { kind: isTanh ? "geluTanh" : "gelu", a: 0, b: 0 }, value: output, nodes: [node] };
}

/** Undefined where an input is neither made of the value nor one known number. */
function exprOf(node: Node, exprs: ReadonlyMap<Value, Expr>, graph: PatternGraph): Expr | undefined {
  const build = own(operators, operatorOf(node));
  const args = node.inputs.map((input) => {
    const known = input && exprs.get(input);
    const number = known === undefined ? graph.number(input) : undefined;
    return known ?? (number === undefined ? undefined : constant("f32", number));
  });
  const [first, second] = args;
  if (build === undefined || first === undefined || args.some((arg) => arg === undefined)) return undefined;
  return build(first, second);
}

/** Stands for the value: nobody reads it. */
function leafOf({ name }: Value): Expr {
  const view: View = {
    buffer: { id: -1, kind: "temporary", bytes: 4, name },
    ...{ type: "float32", shape: [], strides: [], offset: 0 },
  };
  return load(view);
}
