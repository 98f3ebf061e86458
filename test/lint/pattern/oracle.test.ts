/** @file The matcher against one that tries every assignment there is, on random graphs and patterns. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { model } from "../../../fixtures/builder.ts";
import { inferFacts } from "../../../src/facts/infer.ts";
import type { Scope } from "../../../src/facts/scope.ts";
import type { Node, Value } from "../../../src/ir/model.ts";
import { matchesIn } from "../../../src/lint/pattern/match.ts";
import { type Pattern, patterns } from "../../../src/lint/pattern/pattern.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";

const types = ["Relu", "Neg", "Add", "Mul"] as const;
const arity = { Relu: 1, Neg: 1, Add: 2, Mul: 2 } as const;

interface OpShape {
  readonly kind: "op";
  readonly type: (typeof types)[number];
  readonly operands: readonly Operand[];
  readonly commute: boolean;
  readonly only: boolean;
}

type Shape =
  | { readonly kind: "any" }
  | { readonly kind: "const" }
  | OpShape
  | { readonly kind: "anyOf"; readonly choices: readonly Shape[] };

interface Operand {
  readonly name: string;
  readonly shape: Shape;
}

const { shape: shapes } = fc.letrec<{ shape: Shape; op: Shape }>((tie) => ({
  shape: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<Shape>({ kind: "any" }, { kind: "const" }),
    tie("op"),
    fc.record({
      kind: fc.constant("anyOf" as const),
      choices: fc.array(tie("shape"), { minLength: 1, maxLength: 2 }),
    }),
  ),
  op: fc.record({
    kind: fc.constant("op" as const),
    type: fc.constantFrom(...types),
    operands: fc.uniqueArray(fc.record({ name: fc.constantFrom("a", "b", "c"), shape: tie("shape") }), {
      maxLength: 2,
      selector: ({ name }) => name,
    }),
    commute: fc.boolean(),
    only: fc.boolean(),
  }),
}));

function patternOf(shape: Shape): Pattern<string, string> {
  const p = patterns;
  if (shape.kind === "any") return p.any();
  if (shape.kind === "const") return p.const();
  if (shape.kind === "anyOf") return p.anyOf(...shape.choices.map(patternOf));
  const { type, operands, commute, only } = shape;
  const named = Object.fromEntries(operands.map((each) => [each.name, patternOf(each.shape)]));
  return p.op(type, named, { commute, only });
}

/** What an operand is computed of has another name than the operand. */
function isPossible(shape: Shape): boolean {
  if (shape.kind === "anyOf") return shape.choices.every(isPossible);
  if (shape.kind !== "op") return true;
  return shape.operands.every((each) => isPossible(each.shape) && !namesIn(each.shape).includes(each.name));
}

function namesIn(shape: Shape): string[] {
  if (shape.kind === "anyOf") return shape.choices.flatMap(namesIn);
  if (shape.kind !== "op") return [];
  return shape.operands.flatMap((each) => [each.name, ...namesIn(each.shape)]);
}

/** Which values names stand for. */
type Named = Readonly<Record<string, Value>>;

/** Both; none where they contradict each other. */
function joined(a: Named, b: Named): Named[] {
  for (const [name, value] of Object.entries(b)) if (name in a && a[name] !== value) return [];
  return [{ ...a, ...b }];
}

/** Every way in which a value is what is asked for: all of them, whatever else is asked. */
function waysOf(shape: Shape, value: Value): Named[] {
  if (shape.kind === "any") return [{}];
  if (shape.kind === "const") return value.initializer === undefined ? [] : [{}];
  if (shape.kind === "anyOf") return shape.choices.flatMap((choice) => waysOf(choice, value));
  const isOnly = !value.isOutput && new Set(value.consumers).size === 1;
  if (value.producer === undefined || (shape.only && !isOnly)) return [];
  return waysOfNode(shape, value.producer);
}

function waysOfNode(shape: OpShape, node: Node): Named[] {
  if (node.opType !== shape.type) return [];
  const indices = [...node.inputs.keys()];
  const orders = shape.commute ? [indices, indices.toReversed()] : [indices];
  return orders.flatMap((order) => {
    let ways: Named[] = [{}];
    for (const [position, { name, shape: wanted }] of shape.operands.entries()) {
      const value = node.inputs[order[position] ?? -1];
      if (value === undefined) return [];
      const own = waysOf(wanted, value).flatMap((way) => joined({ [name]: value }, way));
      ways = ways.flatMap((way) => own.flatMap((each) => joined(way, each)));
    }
    return ways;
  });
}

/** Each node by its operator and which of the values before it reads. */
const graphs = fc.array(
  fc.record({ type: fc.constantFrom(...types), reads: fc.tuple(fc.nat(20), fc.nat(20)) }),
  { minLength: 1, maxLength: 9 },
);

function scopeOf(
  nodes: readonly { type: (typeof types)[number]; reads: readonly [number, number] }[],
): Scope {
  const bytes = model({ name: "random" }, (graph) => {
    const values = [graph.input("x", [4]), graph.weight([4], { name: "w", values: [1, 2, 3, 4] })];
    for (const [index, { type, reads }] of nodes.entries()) {
      const inputs = reads.slice(0, arity[type]).map((read) => values[read % values.length] ?? "x");
      values.push(graph.node(type, inputs, {}, { outputs: [`v${index}`] }));
    }
    graph.output(`v${nodes.length - 1}`);
  });
  return inferFacts(modelFromBytes(bytes, "random.onnx")).root;
}

test("finds the nodes that some assignment fits, and no others", () => {
  let fitting = 0;
  fc.assert(
    fc.property(graphs, shapes, (nodes, shape) => {
      fc.pre(shape.kind === "op");
      if (shape.kind !== "op") return;
      if (!isPossible(shape)) {
        expect(() => patternOf(shape)).toThrow("one name is one value");
        return;
      }
      const scope = scopeOf(nodes);
      // Whether its result is read once is asked of operands, not of the node that the pattern ends in.
      const expected = scope.graph.nodes.filter((node) => waysOfNode(shape, node).length > 0);
      const found = [...matchesIn(patternOf(shape), scope, new Map())].map(({ root }) => root);
      fitting += found.length;
      expect(found).toEqual(expected);
    }),
    { numRuns: 1500 },
  );
  expect(fitting).toBeGreaterThan(100);
});
