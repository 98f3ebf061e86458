/** Drawn networks with GELU in them, whole or nearly, in any brackets and opset: what is joined computes the same, and only that is. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { runToFixedPoint } from "../../src/fix/rounds.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { join } from "../../src/passes/join/join.ts";
import { settingsFor } from "../fix/models.ts";
import { bytesOfModel, difference, floats, operators, run } from "./folding.ts";
import { ints, weight } from "./padding.ts";

const { TC_LINT_FUZZ_RUNS: runs = "60", TC_LINT_FUZZ_SEED: seed = "20261126" } = process.env;

interface GeluPlan {
  readonly kind: "gelu";
  readonly form: "erf" | "tanh";
  /** In which order x, ½ and one more are multiplied. */
  readonly order: number;
  /** How its inside is written. */
  readonly inside: number;
  readonly areVectors: boolean;
  readonly swaps: number;
  /** What keeps it from being one. */
  readonly flaw: "none" | "number" | "one" | "half" | "reader" | "output";
}

type Plan = GeluPlan | { readonly kind: "linear" | "relu" | "mean" | "split" | "residual" | "pool" };

const gelus: fc.Arbitrary<Plan> = fc.record({
  kind: fc.constant("gelu" as const),
  form: fc.constantFrom("erf" as const, "tanh" as const),
  order: fc.nat(3),
  inside: fc.nat(2),
  areVectors: fc.boolean(),
  swaps: fc.nat(255),
  flaw: fc.oneof(
    { weight: 3, arbitrary: fc.constant("none" as const) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "number" as const,
        "one" as const,
        "half" as const,
        "reader" as const,
        "output" as const,
      ),
    },
  ),
});
const others: fc.Arbitrary<Plan> = fc.record({
  kind: fc.constantFrom("linear" as const, "relu", "mean", "split", "residual", "pool"),
});
const plans = fc.array(fc.oneof(gelus, others), { minLength: 1, maxLength: 6 });

class Writer {
  readonly #graph: GraphBuilder;
  readonly #opset: number;

  constructor(graph: GraphBuilder, opset: number) {
    this.#graph = graph;
    this.#opset = opset;
  }

  step(x: string, plan: Plan): string {
    const graph = this.#graph;
    switch (plan.kind) {
      case "gelu":
        return this.#gelu(x, plan);
      case "linear":
        return graph.node("MatMul", [x, weight(graph, [6, 6])]);
      case "relu":
        return graph.node("Relu", [x]);
      case "mean":
        return graph.node("Sub", [
          x,
          this.#opset < 18
            ? graph.node("ReduceMean", [x], { axes: [-1] })
            : graph.node("ReduceMean", [x, ints(graph, [-1])]),
        ]);
      case "split": {
        const counted = this.#opset < 18 ? {} : { num_outputs: 2 };
        const [a = "", b = ""] = graph.nodes("Split", [x], { axis: -1, ...counted }, { outputs: 2 });
        return graph.node("Concat", [b, a], { axis: -1 });
      }
      case "residual":
        return graph.node("Add", [x, graph.node("Tanh", [x])]);
      case "pool":
        return graph.node("LpPool", [x], { kernel_shape: [3], pads: [1, 1] });
    }
  }

  #gelu(x: string, { form, order, inside, areVectors, swaps, flaw }: GeluPlan): string {
    const graph = this.#graph;
    let at = 0;
    const number = (value: number) => graph.weight(areVectors ? [1] : [], { values: [value] });
    const pair = (type: string, a: string, b: string) =>
      graph.node(type, (swaps >> at++) & 1 ? [b, a] : [a, b]);
    const times = (a: string, b: string) => pair("Mul", a, b);
    const off = flaw === "number" ? 1.00002 : 1;
    const inner = form === "erf" ? this.#linear(x, inside, off, number, times) : cubic(x, off);
    const plus = pair(
      "Add",
      graph.node(form === "erf" ? "Erf" : "Tanh", [inner]),
      number(flaw === "one" ? 2 : 1),
    );
    const half = flaw === "half" ? 0.25 : 0.5;
    if (flaw === "output") graph.output(plus, "float32", ["n", "m", "k"]);
    const products = [
      () => times(times(x, plus), number(half)),
      () => times(times(x, number(half)), plus),
      () => times(x, times(plus, number(half))),
      () => graph.node("Div", [times(plus, x), number(1 / half)]),
    ];
    const y = products[order]?.() ?? "";
    return flaw === "reader" ? graph.node("Add", [y, graph.node("Neg", [plus])]) : y;

    function cubic(of: string, factor: number): string {
      const [a, b] = [0.044715, Math.sqrt(2 / Math.PI) * factor];
      const cube = [
        () => graph.node("Pow", [of, number(3)]),
        () => times(times(of, of), of),
        () => times(of, graph.node("Pow", [of, number(2)])),
      ][inside]?.();
      return times(pair("Add", times(cube ?? "", number(a)), of), number(b));
    }
  }

  #linear(
    x: string,
    inside: number,
    factor: number,
    number: (value: number) => string,
    times: (a: string, b: string) => string,
  ): string {
    if (inside === 0) return this.#graph.node("Div", [x, number(Math.SQRT2 / factor)]);
    if (inside === 1) return times(x, number(Math.SQRT1_2 * factor));
    return times(times(x, number(Math.SQRT2 * factor)), number(0.5));
  }
}

it("what is joined computes the same, and nothing else is joined", { timeout: 600_000 }, async () => {
  let [joined, raised, left] = [0, 0, 0];
  await fc.assert(
    fc.asyncProperty(plans, fc.integer({ min: 13, max: 21 }), async (steps, opset) => {
      const bytes = model({ name: "drawn", opset }, (graph) => {
        const writer = new Writer(graph, opset);
        const last = steps.reduce((x, step) => writer.step(x, step), graph.input("x", [2, 3, 6]));
        graph.node("Identity", [last], {}, { outputs: ["y"] });
        graph.output("y", "float32", ["a", "b", "c"]);
      });
      const before = modelFromBytes(bytes);
      const settings = settingsFor([fold, join]);
      const { model: after, notes } = runToFixedPoint(before, settings);
      const whole = steps.filter((step) => step.kind === "gelu" && step.flaw === "none").length;
      // LpPool means something else since.
      const isHeld = opset < 18 && steps.some(({ kind }) => kind === "pool");
      const expected = isHeld ? 0 : whole;
      expect(operators(after).filter((type) => type === "Gelu")).toHaveLength(expected);
      expect(after.opsets.get("")).toBe(expected > 0 ? Math.max(20, opset) : opset);
      expect(notes.some(({ pass, kind }) => pass === "join" && kind === "blocked")).toBe(isHeld && whole > 0);
      if (expected > 0) joined += 1;
      if (expected > 0 && opset < 20) raised += 1;
      if (isHeld && whole > 0) left += 1;
      const feeds = { x: floats([2, 3, 6], steps.length) };
      const share = difference(await run(bytes, feeds), await run(bytesOfModel(after), feeds));
      expect(share).toBeLessThan(1e-5);
      expect(runToFixedPoint(after, settings).changed).toBe(false);
    }),
    { numRuns: Number(runs), ...(seed === "random" ? {} : { seed: Number(seed) }) },
  );
  expect(Math.min(joined, raised, left)).toBeGreaterThan(0);
});
