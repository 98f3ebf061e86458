/** A mask whose elements nobody has read is said to be one: a causal one takes another time. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { lint } from "../rules/lint.ts";

const length = 64;
const triangle = Array.from({ length: length * length }, (_, at) =>
  at % length > Math.floor(at / length) ? -1e9 : 0,
);

/** One head of attention with what is added to its scores, a mask or a bias. */
function masked(mask: (graph: GraphBuilder) => string, heads = 1, stack: StackId = "tc-runtime") {
  const bytes = model({ name: "masked", opset: 17 }, (graph) => {
    const [q = "", k = "", v = ""] = ["q", "k", "v"].map((name) => graph.input(name, [1, heads, length, 64]));
    const keys = graph.node("Transpose", [k], { perm: [0, 1, 3, 2] });
    const scores = graph.node("Add", [graph.node("MatMul", [q, keys]), mask(graph)]);
    graph.output(graph.node("MatMul", [graph.node("Softmax", [scores], { axis: -1 }), v]));
  });
  using opened = modelFromBytes(bytes);
  const { notices, predicted } = lint(opened, { stack });
  return { codes: notices.map(({ code }) => code), microseconds: predicted.microseconds };
}

describe("a mask that is stored", () => {
  const named = (values?: readonly number[]) => (graph: GraphBuilder) =>
    graph.weight([1, 1, length, length], { name: "mask", ...(values === undefined ? {} : { values }) });

  it("is said to be unread where its elements are not here, and takes another time than one that is", () => {
    const [unread, causal] = [masked(named()), masked(named(triangle))];
    expect(unread.codes).toContain("mask-unread");
    expect(causal.codes).not.toContain("mask-unread");
    expect(unread.microseconds).not.toBe(causal.microseconds);
  });

  it("is nobody's business where another one is for each head, where it is given, or where each node is a kernel", () => {
    const each = (graph: GraphBuilder) => graph.weight([1, 4, length, length]);
    const given = (graph: GraphBuilder) => graph.input("given", [1, 1, length, length]);
    for (const { codes } of [masked(each, 4), masked(given), masked(named(), 1, "cudnn")])
      expect(codes).not.toContain("mask-unread");
  });
});
