/** @file Work in proportion to a model: counted, not timed. What is quadratic here does not end within a test's time. */
import { describe, expect, it } from "vitest";
import { h200, type Plan } from "../../../cuda-runtime/ir/step.ts";
import { placeBuffers } from "../../../cuda-runtime/plan/arena.ts";
import { model as build, type GraphBuilder, type ModelBuilder } from "../../../fixtures/builder.ts";
import { planSizes } from "../../../src/gpu/plan.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";

function planned(graph: (builder: GraphBuilder, model: ModelBuilder) => void): Plan {
  using model = modelFromBytes(build({ name: "m", domains: { local: 1 } }, graph));
  return planSizes(model, {}, { precision: "fp32", target: h200 }, { memoryBytes: undefined }).plan;
}

const local = { domain: "local" };

/** Each function calls the one before twice, in one of two ways. */
function doubling(depth: number, isBranched: boolean) {
  return (graph: GraphBuilder, model: ModelBuilder) => {
    for (let level = 0; level < depth; level++) {
      const call = (body: GraphBuilder, x: string) =>
        level === 0 ? body.node("Relu", [x]) : body.node(`f${level - 1}`, [x], {}, local);
      model.addFunction("local", `f${level}`, (body) => {
        body.input("a", undefined);
        if (!isBranched) return body.output(call(body, call(body, "a")));
        const condition = body.node("Cast", [body.node("ReduceSum", ["a"], { keepdims: 0 })], { to: 9 });
        const [yes, no] = [body.inner("t"), body.inner("e")];
        for (const branch of [yes, no]) branch.output(call(branch, "a"));
        body.output(
          body.node("If", [condition], { then_branch: { graph: yes }, else_branch: { graph: no } }),
        );
      });
    }
    graph.input("x", [4]);
    graph.node(`f${depth - 1}`, ["x"], {}, { ...local, outputs: ["y"] });
    graph.output("y");
  };
}

describe("A plan's size", () => {
  it.each([
    [16, false, "131,070"],
    [60, false, "2.3e+18"],
    [14, true, "81,915"],
  ])("is refused where %i functions multiply (branches: %s)", (depth, isBranched, count) => {
    expect(() => planned(doubling(depth, isBranched))).toThrow(
      `the model's functions expand to ${count} nodes, more than a plan of a model of its size holds (10,000)`,
    );
  });

  it("is what functions of few nodes make of it", () => {
    expect(planned(doubling(10, false)).steps.length).toBeGreaterThan(0);
  });

  it("holds branches inside branches without an expression of both of all", () => {
    expect(planned(doubling(9, true)).steps.length).toBeGreaterThan(0);
  });

  it("refuses a chain of ten thousand functions by name", () => {
    const chain = (graph: GraphBuilder, model: ModelBuilder) => {
      for (let level = 0; level < 10_000; level++)
        model.addFunction("local", `f${level}`, (body) => {
          body.input("a", undefined);
          body.output(level === 0 ? body.node("Relu", ["a"]) : body.node(`f${level - 1}`, ["a"], {}, local));
        });
      graph.input("x", [4]);
      graph.node("f9999", ["x"], {}, { ...local, outputs: ["y"] });
      graph.output("y");
    };
    expect(() => planned(chain)).toThrow(/functions call each other beyond 100 levels/);
  });
});

describe("Planning", () => {
  const many = 20_000;

  it("adds up any number of tensors and products, a kernel's worth at a time", () => {
    const plan = planned((graph) => {
      graph.input("x", [4, 4]);
      const weight = graph.weight([4, 4], { values: Array.from({ length: 16 }, (_, at) => at / 16) });
      graph.node(
        "Sum",
        [...new Array<string>(many).fill("x"), graph.node("MatMul", ["x", weight])],
        {},
        { outputs: ["y"] },
      );
      graph.output("y");
    });
    expect(plan.steps.length).toBeLessThan(many);
    for (const { action } of plan.steps)
      if (action.kind === "launch") expect(action.launch.reads.length).toBeLessThan(20);
  });

  it.each(["Sum", "Mean", "Max"])("takes one product for any number of inputs of %s", (operator) => {
    const plan = planned((graph) => {
      const weight = graph.weight([4, 4], { values: Array.from({ length: 16 }, (_, at) => at / 16) });
      const product = graph.node("MatMul", [graph.input("x", [4, 4]), weight]);
      const inputs = Array.from({ length: many }, (_, at) =>
        at % 1000 === 0 ? graph.node("Relu", [product]) : product,
      );
      graph.node(operator, inputs, {}, { outputs: ["y"] });
      graph.output("y");
    });
    // The product by itself, and chains of as many operations as one kernel holds.
    expect(plan.steps.length).toBeGreaterThan(many / 200);
    expect(plan.steps.length).toBeLessThan(many / 8);
  });

  it("matches epilogues by nodes, not by the paths through them", () => {
    const plan = planned((graph) => {
      const weight = graph.weight([4, 4], { values: Array.from({ length: 16 }, (_, at) => at / 16) });
      let last = graph.node("MatMul", [graph.input("x", [4, 4]), weight]);
      for (let at = 0; at < 60; at++) last = graph.node("Mul", [last, last]);
      graph.output(last);
    });
    expect(plan.steps.length).toBeLessThan(10);
  });

  it("writes each input of a Concat where it belongs", () => {
    const plan = planned((graph) => {
      const inputs = Array.from({ length: many }, (_, at) => graph.input(`x${at}`, [4]));
      graph.node("Concat", [...inputs, "x0"], { axis: 0 }, { outputs: ["y"] });
      graph.output("y");
    });
    expect(plan.outputs[0]?.view.shape).toEqual([4 * many + 4]);
  });

  it("places buffers beside each other however long they live", () => {
    const lifetimes = Array.from({ length: 3000 }, (_, at) => ({
      buffer: { id: at, kind: "temporary" as const, bytes: 1 + ((at * 7919) % 5000), name: "" },
      first: (at * 31) % 500,
      last: ((at * 31) % 500) + (at % 3 === 0 ? 400 : at % 40),
    }));
    for (const looks of [0, 10_000, 20_000_000]) {
      const { offsets, bytes } = placeBuffers(lifetimes, looks);
      const placed = lifetimes.map((each) => ({ ...each, at: offsets.get(each.buffer) ?? -1 }));
      for (const a of placed) {
        expect(a.at + a.buffer.bytes).toBeLessThanOrEqual(bytes);
        for (const b of placed) {
          if (b.buffer.id <= a.buffer.id || a.first > b.last || b.first > a.last) continue;
          const isApart = a.at + a.buffer.bytes <= b.at || b.at + b.buffer.bytes <= a.at;
          if (!isApart) expect.fail(`buffers ${a.buffer.id} and ${b.buffer.id} meet with ${looks} looks`);
        }
      }
    }
  });
});
