/** What depends on data: which branch runs, and how much an operator finds. */
import { describe, expect, it } from "vitest";
import { model as modelOf } from "../../fixtures/builder.ts";
import { stackIds } from "../../src/hardware/stacks.ts";
import type { ModelReport } from "../../src/lint/result.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { lint } from "../rules/lint.ts";

function suppression(boxes: number, classes: number): Uint8Array {
  return modelOf({ name: "nms", opset: 17 }, (graph) => {
    const from = graph.input("boxes", [1, boxes, 4]);
    const scores = graph.input("scores", [1, classes, boxes]);
    const found = graph.node("NonMaxSuppression", [from, scores]);
    graph.output(found, "int64");
  });
}

function coordinates(side: number): Uint8Array {
  return modelOf({ name: "nonzero", opset: 17 }, (graph) => {
    graph.output(graph.node("NonZero", [graph.input("x", [side, side])]), "int64");
  });
}

function messages({ notices }: ModelReport): string {
  return notices.map(({ message }) => message).join("; ");
}

describe("operators whose result is as large as what they find", () => {
  it.each(stackIds)(
    "take what their inputs take, and an interval as wide as what data may do, on %s",
    (stack) => {
      const [few, many] = [
        [100, 1],
        [25_200, 80],
      ].map(([boxes = 0, classes = 0]) => lint(modelFromBytes(suppression(boxes, classes)), { stack }));
      // Boxes and scores once at the rate of L2: 8.5 MB.
      expect(many?.predicted.low).toBeGreaterThan(1);
      expect(many?.predicted.microseconds).toBeGreaterThan(20 * (few?.predicted.microseconds ?? 0));
      expect((many?.predicted.high ?? 0) / (many?.predicted.low ?? 1)).toBeGreaterThan(100);
      expect(many && messages(many)).toMatch(/^what it finds decides how long .*NonMaxSuppression/);
      const [small, large] = [32, 4096].map((side) => lint(modelFromBytes(coordinates(side)), { stack }));
      expect(large?.predicted.microseconds).toBeGreaterThan(10 * (small?.predicted.microseconds ?? 0));
    },
  );
});

describe("an If that no constant decides", () => {
  const branching = (widths: readonly [number, number]) =>
    modelFromBytes(
      modelOf({ name: "if", opset: 17 }, (graph) => {
        const x = graph.input("x", [512, 1024], "float16");
        const branch = (width: number) => {
          const inner = graph.inner(`width${width}`);
          const weight = inner.weight([1024, width], { dtype: "float16" });
          inner.output(inner.node("MatMul", [x, weight]), "float16");
          return { graph: inner };
        };
        const [then_branch, else_branch] = [branch(widths[0]), branch(widths[1])];
        const condition = graph.input("condition", [], "bool");
        const named = { name: "choice" };
        graph.output(graph.node("If", [condition], { then_branch, else_branch }, named), "float16");
      }),
    );

  it("takes its dearer branch, whichever that is, and says so", () => {
    const [first, second] = [lint(branching([4096, 512])), lint(branching([512, 4096]))];
    expect(first.predicted.microseconds).toBe(second.predicted.microseconds);
    expect(messages(first)).toMatch(
      /^"choice" runs one of its branches: then_branch is priced, which takes [0-9.]+ µs more: findings save more only where those in both are mended$/,
    );
    expect(messages(second)).toContain("else_branch is priced");
  });
});

describe("a Loop", () => {
  const looping = (trips: number | undefined) =>
    modelFromBytes(
      modelOf({ name: "loop", opset: 17 }, (graph) => {
        const inner = graph.inner("body");
        inner.input("i", [], "int64");
        const goesOn = inner.input("goesOn", [], "bool");
        const h = inner.input("h", [512, 1024], "float16");
        inner.output(inner.node("Identity", [goesOn]), "bool");
        inner.output(inner.node("MatMul", [h, inner.weight([1024, 1024], { dtype: "float16" })]), "float16");
        const count = trips === undefined ? graph.input("trips", [], "int64") : graph.scalar(trips, "int64");
        const named = { name: "steps" };
        graph.output(
          graph.node(
            "Loop",
            [count, graph.scalar(1, "bool"), graph.input("x", [512, 1024], "float16")],
            {
              body: { graph: inner },
            },
            named,
          ),
          "float16",
        );
      }),
    );

  it("takes its trip count's runs, and says that one is priced where an input has the count", () => {
    const [open, ten] = [lint(looping(undefined)), lint(looping(10))];
    expect(ten.predicted.microseconds).toBeCloseTo(10 * open.predicted.microseconds, 6);
    expect(messages(open)).toBe(
      '"steps" (Loop) runs its body as often as its inputs say, which the file does not: one run of it is priced',
    );
    expect(messages(ten)).not.toContain("runs its body");
  });
});
