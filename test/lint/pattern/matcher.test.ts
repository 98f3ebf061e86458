/** @file Patterns against graphs: what fits, what does not, and how near it came. */
import { describe, expect, test } from "vitest";
import { type GraphBuilder, model } from "../../../fixtures/builder.ts";
import { inferFacts } from "../../../src/facts/infer.ts";
import { labelOf } from "../../../src/ir/model.ts";
import { explainAt } from "../../../src/lint/pattern/explain.ts";
import { type Match, matchesIn } from "../../../src/lint/pattern/match.ts";
import { type Pattern, type PatternBuilder, patterns } from "../../../src/lint/pattern/pattern.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";

type Made = (p: PatternBuilder) => Pattern<string, string>;

function scopeOf(build: (graph: GraphBuilder) => void) {
  return inferFacts(modelFromBytes(model({ name: "m" }, build), "m.onnx")).root;
}

function found(build: (graph: GraphBuilder) => void, made: Made): Match[] {
  return [...matchesIn(made(patterns), scopeOf(build), new Map())];
}

const roots = (build: (graph: GraphBuilder) => void, made: Made) =>
  found(build, made).map(({ root }) => labelOf(root));

function missAt(build: (graph: GraphBuilder) => void, made: Made, name: string): string {
  const scope = scopeOf(build);
  const node = scope.graph.nodes.find((each) => labelOf(each) === name);
  if (node === undefined) throw new Error(`no ${name}`);
  const { fits, at, expected, found: there } = explainAt(made(patterns), node, scope, new Map());
  return fits ? "fits" : `${at.join(" → ")}: expected ${expected}, found ${there}`;
}

const named = (name: string) => ({ name });

/** relu(conv(x, w) + b), its convolution read once more where `again`. */
function block(graph: GraphBuilder, { again = false, swapped = false } = {}): void {
  const x = graph.input("x", ["N", 3, 8, 8]);
  const w = graph.weight([4, 3, 1, 1], { name: "w", values: Array.from({ length: 12 }, () => 1) });
  const conv = graph.node("Conv", [x, w], {}, named("conv"));
  const b = graph.scalar(2);
  const sum = graph.node("Add", swapped ? [b, conv] : [conv, b], {}, named("add"));
  graph.node("Relu", [sum], {}, { name: "relu", outputs: ["y"] });
  graph.output("y");
  if (again) {
    graph.node("Neg", [conv], {}, { name: "neg", outputs: ["z"] });
    graph.output("z");
  }
}

const chain: Made = (p) =>
  p
    .op("Conv", { x: p.any(), w: p.const() }, { as: "conv" })
    .then("Add", { only: true, with: { b: p.number(2) } })
    .then("Relu", { only: true });

describe("A pattern", () => {
  test("goes from node to node, and captures what it names", () => {
    const [match] = found(block, chain);
    expect(match?.nodes.map(labelOf)).toEqual(["conv", "add", "relu"]);
    expect([match?.value("x").name, match?.value("w").name]).toEqual(["x", "w"]);
    expect(match && labelOf(match.node("conv"))).toBe("conv");
    expect(() => match?.value("nothing")).toThrow('the match has no "nothing"');
  });

  test("with then reads the pattern so far at any input, or at one that is named", () => {
    expect(roots((graph) => block(graph, { swapped: true }), chain)).toEqual(["relu"]);
    const first: Made = (p) => p.op("Conv").then("Add", { input: 0 });
    expect(roots((graph) => block(graph, { swapped: true }), first)).toEqual([]);
    expect(roots(block, first)).toEqual(["add"]);
  });

  test("with only wants a result that is read once", () => {
    const again = (graph: GraphBuilder) => block(graph, { again: true });
    expect(roots(again, chain)).toEqual([]);
    expect(missAt(again, chain, "conv")).toContain("a result that is read once (only)");
    expect(missAt(again, chain, "conv")).toContain("read by 2 nodes");
    expect(roots(again, (p) => p.op("Conv").then("Add").then("Relu"))).toEqual(["relu"]);
  });

  test("takes operands in order, and in any order where they commute", () => {
    const swapped = (graph: GraphBuilder) => block(graph, { swapped: true });
    const operands =
      (commute: boolean): Made =>
      (p) =>
        p.op("Add", { a: p.op("Conv"), b: p.const() }, { commute });
    expect(roots(swapped, operands(false))).toEqual([]);
    expect(roots(swapped, operands(true))).toEqual(["add"]);
    expect(missAt(swapped, operands(false), "add")).toMatch(
      /operand "a" \(input 0\): expected Conv, found the constant/,
    );
  });

  test("takes what is optional or not, and what is left out", () => {
    const withBias: Made = (p) => p.op("Conv", { x: p.any(), w: p.any(), b: p.optional(p.const()) });
    expect(roots(block, withBias)).toEqual(["conv"]);
    expect(found(block, withBias)[0]?.has("b")).toBe(false);
    expect(roots(block, (p) => p.op("Conv", { x: p.any(), w: p.any(), b: p.any() }))).toEqual([]);
    expect(roots(block, (p) => p.op("Conv", { x: p.any(), w: p.any(), b: p.absent() }))).toEqual(["conv"]);
    expect(roots(block, (p) => p.op("Conv").then("Cast", { optional: true }).then("Add"))).toEqual(["add"]);
    expect(roots(block, (p) => p.op("Conv").then("Add", { optional: true }).then("Relu"))).toEqual(["relu"]);
  });

  test("goes back to another choice where what follows does not fit", () => {
    const made: Made = (p) =>
      p.op("Add", {
        a: p.anyOf(p.op("Conv", { x: p.op("Neg") }), p.op("Conv", { x: p.any() })),
        b: p.const(),
      });
    expect(roots(block, made)).toEqual(["add"]);
    expect(roots(block, (p) => p.op(["Sub", "Add"]))).toEqual(["add"]);
    expect(roots(block, (p) => p.op("*", { x: p.op("*", { y: p.op("*") }) }))).toEqual(["relu"]);
  });

  test("takes the same value for the same name", () => {
    const gated = (same: boolean) => (graph: GraphBuilder) => {
      const [x, z] = [graph.input("x", [4]), graph.input("z", [4])];
      const gate = graph.node("Sigmoid", [same ? x : z]);
      graph.node("Mul", [gate, x], {}, { name: "mul", outputs: ["y"] });
      graph.output("y");
    };
    const silu: Made = (p) =>
      p.op("Mul", { x: p.any(), gate: p.op("Sigmoid", { x: p.any() }) }, { commute: true });
    expect(roots(gated(true), silu)).toEqual(["mul"]);
    expect(roots(gated(false), silu)).toEqual([]);
    expect(missAt(gated(false), silu, "mul")).toContain('expected the same as "x" before');
  });

  test("takes any number of operands, each by itself", () => {
    const joined = (types: readonly string[]) => (graph: GraphBuilder) => {
      const x = graph.input("x", [4]);
      const parts = types.map((type) => graph.node(type, [x]));
      graph.node("Concat", parts, { axis: 0 }, { name: "cat", outputs: ["y"] });
      graph.output("y");
    };
    const made: Made = (p) =>
      p.op("Concat", { parts: p.variadic(p.op(["Relu", "Neg"]), { least: 2, most: 3 }) });
    expect(found(joined(["Relu", "Neg", "Relu"]), made)[0]?.values("parts")).toHaveLength(3);
    expect(found(joined(["Relu", "Neg", "Relu"]), made)[0]?.nodes).toHaveLength(4);
    expect(roots(joined(["Relu", "Abs"]), made)).toEqual([]);
    expect(missAt(joined(["Relu"]), made, "cat")).toContain('expected "parts": 2 to 3 operands, found 1');
    expect(missAt(joined(["Relu", "Abs"]), made, "cat")).toMatch(
      /operand "parts" \(input 1\): expected Relu or Neg, found .*Abs/,
    );
  });

  test("asks for types, shapes, attributes and conditions", () => {
    const shape =
      (...dims: (string | number)[]): Made =>
      (p) =>
        p.op("Conv", { x: p.any({ shape: dims }) });
    expect(roots(block, shape("N", 3, "S", "S"))).toEqual(["conv"]);
    expect(roots(block, shape("...", "S", "S"))).toEqual(["conv"]);
    expect(roots(block, shape("N", "C", "C", "_"))).toEqual([]);
    expect(missAt(block, shape(1, 3, 8, 8), "conv")).toMatch(
      /expected the shape \[1, 3, 8, 8\], found \[N, 3, 8, 8\]/,
    );
    expect(found(block, shape("B", "C", "_", "_"))[0]?.size("C")).toBe(3);
    const dtype: Made = (p) => p.op("Conv", { x: p.any({ dtype: ["float16", "bfloat16"] }) });
    expect(missAt(block, dtype, "conv")).toContain("expected float16 or bfloat16, found float32");
    const group: Made = (p) => p.op("Conv", {}, { attributes: { group: (value = 1) => value === 1 } });
    expect(roots(block, group)).toEqual(["conv"]);
    expect(roots(block, (p) => p.op("Conv", {}, { attributes: { group: 1 } }))).toEqual([]);
    const odd: Made = (p) =>
      p.op(
        "Conv",
        {},
        { where: { "channels are odd": (node, facts) => (facts.sizes(node.inputs[1])?.[1] ?? 0) % 2 === 1 } },
      );
    expect(roots(block, odd)).toEqual(["conv"]);
    const wide: Made = (p) => p.op("Conv", { x: p.any({ where: { "is wide": () => false } }) });
    expect(missAt(block, wide, "conv")).toContain("expected is wide");
  });

  test("that does not end near a node says so", () => {
    expect(missAt(block, (p) => p.op("MatMul"), "conv")).toMatch(
      /expected MatMul, which the pattern ends in, found node "conv"/,
    );
  });

  test("is no promise, and names its operands", () => {
    const p = patterns;
    expect(() => p.op("Conv").then((() => {}) as unknown as string)).toThrow("a pattern is no promise");
    expect(() => p.op("Conv", { 0: p.any() })).toThrow('an operand is named, found "0"');
    expect(() => p.op("Concat", { all: p.variadic(p.any()), last: p.any() })).toThrow(
      "variadic is the last operand",
    );
    expect(() => p.op("Neg", { x: p.op("Neg", { x: p.any() }) })).toThrow("one name is one value");
  });

  test("of many choices within each other comes to an end", () => {
    const many = (graph: GraphBuilder) => {
      let x = graph.input("x", [4]);
      for (let depth = 0; depth < 40; depth++) x = graph.node("Add", [x, x], {}, named(`add_${depth}`));
      graph.node("Identity", [x], {}, { outputs: ["y"] });
      graph.output("y");
    };
    const deep = (p: PatternBuilder, depth: number): Pattern =>
      depth === 0
        ? p.op("Mul")
        : p.op("Add", { [`a${depth}`]: deep(p, depth - 1), [`b${depth}`]: p.any() }, { commute: true });
    expect(() => roots(many, (p) => deep(p, 30))).toThrow(/tried with \d+ parts and more/);
  });
});
