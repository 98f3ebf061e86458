/** @file Concatenation in place: who writes where, and what still has to be copied. */
import { describe, expect, test } from "vitest";
import type { Plan } from "../../../cuda-runtime/ir/step.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { info, int64, integers, modelBytes, node, type types } from "../../onnx/build.ts";
import { attribute, attributes, familiesOf, launchesFor, launchesOf, planOf, weight } from "../small-plan.ts";

const conv = (input: string, filter: string, output: string) =>
  node("Conv", [input, filter], [output], { attribute: [attributes("pads", [1, 1, 1, 1])] });
const concat = (inputs: string[], output: string, axis = 1) =>
  node("Concat", inputs, [output], { attribute: [attribute("axis", axis)] });

/** Three layers, each over all before it, as exporters write DenseNet: one concatenation a layer. */
const dense: types.IGraphProto = {
  node: [
    conv("x", "w0", "a0"),
    conv("a0", "w1", "a1"),
    concat(["a0", "a1"], "c1"),
    node("Relu", ["c1"], ["r1"]),
    conv("r1", "w2", "a2"),
    concat(["a0", "a1", "a2"], "c2"),
    node("Relu", ["c2"], ["r2"]),
    conv("r2", "w3", "a3"),
    concat(["a0", "a1", "a2", "a3"], "c3"),
    node("Relu", ["c3"], ["y"]),
  ],
  initializer: [
    weight("w0", [32, 16, 3, 3]),
    weight("w1", [16, 32, 3, 3]),
    weight("w2", [16, 48, 3, 3]),
    weight("w3", [16, 64, 3, 3]),
  ],
  input: [info("x", [1, 16, 12, 12])],
  output: [info("y", [1, 80, 12, 12])],
};

function channelsOf({ shape }: View): number | undefined {
  return shape[1];
}

/** Buffers that hold a concatenation of `channels`: launches read or write views of it that wide. */
function homesOf({ steps }: Plan, channels: number): Set<View["buffer"]> {
  const views = launchesOf(steps).flatMap(({ reads, writes }) => [...reads, ...writes]);
  return new Set(views.filter((view) => channelsOf(view) === channels).map(({ buffer }) => buffer));
}

describe("layers over all layers before them", () => {
  const plan = planOf(dense, "fp16");
  const launches = launchesOf(plan.steps);

  test("write into the last concatenation, each where it belongs", () => {
    const parts = launches.flatMap(({ writes }) =>
      writes.filter(({ buffer, shape }) => shape[1] !== 80 && buffer.bytes === 80 * 144 * 2),
    );
    const home = new Set(parts.map(({ buffer }) => buffer));
    expect(home.size).toBe(1);
    const places = parts.map(({ offset, shape }) => [offset, shape[1]]);
    expect(places).toEqual([
      [0, 32],
      [32, 16],
      [48, 16],
      [64, 16],
    ]);
    // NHWC: the channels of all parts lie side by side.
    for (const { strides } of parts) expect([strides[1], strides[3]]).toEqual([1, 80]);
  });

  test("are not copied, and shorter concatenations are slices of the longest", () => {
    const copies = launches.filter(
      ({ kernel, detail }) => kernel.kind === "ptx" && detail?.startsWith("0 ops"),
    );
    // The input alone changes its layout.
    expect(copies.length).toBeLessThanOrEqual(1);
    const [home] = homesOf(plan, 80);
    expect(home).toBeDefined();
    for (const { reads } of launchesFor(plan.steps, "Relu").slice(0, 2))
      expect(reads.map(({ buffer }) => buffer)).toContain(home);
  });

  test("give the same plan in float32, in place as well", () => {
    const own = planOf(dense, "fp32");
    const parts = launchesOf(own.steps).flatMap(({ writes }) =>
      writes.filter(({ buffer, shape }) => shape[1] !== 80 && buffer.bytes === 80 * 144 * 4),
    );
    expect(parts.map(({ offset }) => offset)).toEqual([0, 32, 48, 64]);
  });
});

describe("a concatenation", () => {
  const shape = [2, 8, 16];
  const small = (nodes: types.INodeProto[], output = [2, 16, 16]): types.IGraphProto => ({
    node: nodes,
    initializer: [weight("k", [2, 8, 16])],
    input: [info("a", shape), info("b", shape)],
    output: [info("y", output)],
  });

  test("of chains is written by them", () => {
    const plan = planOf(
      small([
        node("Tanh", ["a"], ["p"]),
        node("Exp", ["b"], ["q"]),
        concat(["p", "q"], "c"),
        node("Softmax", ["c"], ["y"], { attribute: [attribute("axis", -1)] }),
      ]),
      "fp32",
    );
    expect(familiesOf(plan.steps)).toEqual(["chain", "chain", "softmax"]);
    // What the last one writes is the output.
    expect(launchesOf(plan.steps)[2]?.writes[0]?.buffer.kind).toBe("output");
    const [first, second, softmax] = launchesOf(plan.steps);
    const [p, q, c] = [first?.writes[0], second?.writes[0], softmax?.reads[0]];
    expect(p?.buffer).toBe(c?.buffer);
    expect(q?.buffer).toBe(c?.buffer);
    expect([p?.offset, q?.offset]).toEqual([0, 8 * 16]);
    expect([p?.strides[0], q?.strides[0]]).toEqual([16 * 16, 16 * 16]);
  });

  test("of rows of tables, each given an axis before, is written by the lookups", () => {
    const names = ["a", "b"];
    const lookups = names.flatMap((name) => [
      node("Gather", [`table_${name}`, `ids_${name}`], [`rows_${name}`]),
      node("Unsqueeze", [`rows_${name}`, "axes"], [`row_${name}`]),
    ]);
    const plan = planOf(
      {
        node: [...lookups, concat(["row_a", "row_b"], "c"), node("Softmax", ["c"], ["y"])],
        initializer: [integers("axes", [1], [1]), ...names.map((name) => weight(`table_${name}`, [10, 16]))],
        input: names.map((name) => info(`ids_${name}`, [5], int64)),
        output: [info("y", [5, 2, 16])],
      },
      "fp32",
    );
    expect(familiesOf(plan.steps)).toEqual(["movement", "movement", "softmax"]);
    const [a, b] = launchesOf(plan.steps).map(({ writes }) => writes[0]);
    expect([a, b].map((view) => [view?.offset, view?.strides[0]])).toEqual([
      [0, 32],
      [16, 32],
    ]);
  });

  test("of what a function of the model's makes is not written by what the function reads", () => {
    const reshape: types.IFunctionProto = {
      ...{ name: "Reshape", domain: "", input: ["a", "b"], output: ["o"] },
      opsetImport: [{ domain: "", version: 18 }],
      node: [
        node("Transpose", ["a"], ["t"], { attribute: [attributes("perm", [1, 0])] }),
        node("Neg", ["t"], ["o"]),
      ],
    };
    const graph: types.IGraphProto = {
      node: [
        node("Gather", ["table", "ids"], ["v"]),
        node("Reshape", ["v", "axes"], ["u"]),
        concat(["b", "u"], "c", 0),
        node("Softmax", ["c"], ["y"]),
      ],
      initializer: [integers("axes", [1], [1]), weight("table", [10, 16])],
      input: [info("ids", [16], int64), info("b", [16, 16])],
      output: [info("y", [32, 16])],
    };
    using model = modelFromBytes(modelBytes(graph, { functions: [reshape] }));
    const { steps } = planModel({ model, precision: "fp32", weights: weightsOf(model) });
    for (const { reads, writes } of launchesOf(steps)) {
      const written = new Set(writes.map(({ buffer, offset }) => `${buffer.id} ${offset}`));
      for (const { buffer, offset } of reads) expect(written).not.toContain(`${buffer.id} ${offset}`);
    }
  });

  test("of what overflows halves leaves it wide for who else reads it", () => {
    // Longer than one kernel takes, so that the last operator is by itself.
    let wides = 0;
    for (const length of [94, 95, 96]) {
      const names = Array.from({ length: length + 1 }, (_, index) => (index === 0 ? "x" : `t${index}`));
      const tanhs = names.slice(1).map((name, index) => node("Tanh", [names[index] ?? "x"], [name]));
      const plan = planOf(
        {
          node: [
            ...tanhs,
            node("Exp", [names.at(-1) ?? "x"], ["s"]),
            node("Unsqueeze", ["s", "axes"], ["u"]),
            node("Softmax", ["b"], ["sb"]),
            concat(["sb", "u"], "c"),
            node("Softmax", ["c"], ["y"]),
            node("ReduceSum", ["u", "red"], ["z"]),
          ],
          initializer: [integers("axes", [1], [1]), integers("red", [1], [2])],
          input: [info("x", [64, 64]), info("b", [64, 1, 64])],
          output: [info("y", [64, 2, 64]), info("z", [64, 1, 1])],
        },
        "fp16",
      );
      const [sum] = launchesFor(plan.steps, "ReduceSum");
      const wide = launchesOf(plan.steps).some(({ writes }) => writes.some(({ type }) => type === "float32"));
      if (wide) expect(sum?.reads[0]?.type).toBe("float32");
      wides += Number(wide);
    }
    expect(wides).toBeGreaterThan(0);
  });

  test("of inputs copies them, as nobody can write them elsewhere", () => {
    const plan = planOf(small([concat(["a", "b"], "y")]), "fp32");
    const writes = launchesOf(plan.steps).flatMap((launch) => launch.writes);
    expect(writes.map(({ shape: own }) => own)).toContainEqual(shape);
    const covered = writes.filter(({ shape: own }) => own[1] === 8).map(({ offset }) => offset);
    expect(covered).toEqual([0, 8 * 16]);
  });

  test("of what a Split made is what was split", () => {
    const split = node("Split", ["t"], ["p", "q"], { attribute: [attribute("axis", 1)] });
    const nodes = [
      node("Softmax", ["a"], ["t"], { attribute: [attribute("axis", -1)] }),
      split,
      concat(["p", "q"], "c"),
      node("Tanh", ["c"], ["y"]),
    ];
    const plan = planOf(small(nodes, shape), "fp32");
    expect(familiesOf(plan.steps)).toEqual(["softmax", "chain"]);
  });

  test("of one value twice holds it twice", () => {
    const nodes = [node("Tanh", ["a"], ["p"]), concat(["p", "p"], "c"), node("Exp", ["c"], ["y"])];
    const plan = planOf(small(nodes), "fp32");
    const written = launchesOf(plan.steps).flatMap(({ writes }) => writes);
    const halves = written.filter(
      ({ shape: own, buffer }) => own[1] === 8 && buffer.bytes === 2 * 16 * 16 * 4,
    );
    expect(halves.map(({ offset }) => offset)).toEqual([0, 8 * 16]);
  });

  test("with weights beside what varies keeps both, at every run", () => {
    const nodes = [node("Tanh", ["a"], ["p"]), concat(["k", "p"], "c"), node("Exp", ["c"], ["y"])];
    const { prepare, steps } = planOf(small(nodes), "fp32");
    const home = launchesOf(steps).at(-1)?.reads[0]?.buffer;
    const parts = launchesOf(steps).flatMap(({ writes }) => writes.filter(({ buffer }) => buffer === home));
    expect(parts.map(({ offset }) => offset)).toEqual([0, 8 * 16]);
    // The weight's place is in memory that others use between runs.
    expect(launchesOf(prepare).flatMap(({ writes }) => writes.map(({ buffer }) => buffer))).not.toContain(
      home,
    );
  });

  test("of nothing and something is the something", () => {
    const nodes = [
      node("Slice", ["a", "zero", "zero", "one"], ["n"]),
      node("Tanh", ["b"], ["p"]),
      concat(["n", "p"], "c"),
      node("Exp", ["c"], ["y"]),
    ];
    const graph = small(nodes, shape);
    const integers = (name: string, value: number): types.ITensorProto => ({
      name,
      dims: [1],
      dataType: 7,
      int64Data: [value],
    });
    const plan = planOf({ ...graph, initializer: [integers("zero", 0), integers("one", 1)] }, "fp32");
    expect(launchesOf(plan.steps).at(-1)?.writes[0]?.shape).toEqual(shape);
  });
});
