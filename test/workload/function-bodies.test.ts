/** An operator that a stack has no kernel of takes what its function takes, written out. */
import { describe, expect, it, test } from "vitest";
import { type GraphBuilder, model, type Sizes } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { type StackId, stackIds, stacks } from "../../src/hardware/stacks.ts";
import type { DType } from "../../src/ir/dtype.ts";
import { invariant } from "../../src/ir/errors.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { findOp } from "../../src/ops/registry.ts";
import { priceModel, type Workload } from "../../src/workload/workload.ts";

const cost = createCostModel();

function price(bytes: Uint8Array, stackId: StackId): Workload {
  const gpu = findGpu("h200");
  invariant(gpu !== undefined, "the H200 has a row");
  return priceModel(modelFromBytes(bytes), {
    target: { gpu, stack: stacks[stackId], precision: "as-is" },
    cost,
  });
}

interface Case {
  readonly type: DType;
  readonly sizes: Sizes;
  readonly opset: number;
}

/** A node, and the nodes of its function as ONNX 1.23 prints them. */
interface Twin {
  node(graph: GraphBuilder, x: string, of: Case): string;
  body(graph: GraphBuilder, x: string, of: Case): string;
}

const groups = 8;
const ints = (graph: GraphBuilder, ...values: readonly number[]) =>
  graph.weight([values.length], { dtype: "int64", values });
const float = 1;

function parameter(graph: GraphBuilder, { type, sizes, opset }: Case, value: number): string {
  const count = opset < 21 ? groups : Number(sizes[1]);
  return graph.weight([count], { dtype: type, values: Array(count).fill(value) });
}

const groupNorm: Twin = {
  node: (graph, x, of) =>
    graph.node("GroupNormalization", [x, parameter(graph, of, 1), parameter(graph, of, 0)], {
      num_groups: groups,
    }),
  body(graph, x, of) {
    const isStashed = of.opset >= 21;
    const inFloat = (value: string) => (isStashed ? graph.node("Cast", [value], { to: float }) : value);
    const shape = graph.node("Shape", [x]);
    const flat = (value: string) => graph.node("Reshape", [value, ints(graph, 0, 0, -1)]);
    const mean = (value: string) => graph.node("ReduceMean", [value, ints(graph, 2)]);
    const grouped = flat(
      graph.node("Reshape", [
        inFloat(x),
        graph.node(
          "Concat",
          [
            graph.node("Shape", [x], { start: 0, end: 1 }),
            ints(graph, groups),
            graph.node("Div", [graph.node("Shape", [x], { start: 1, end: 2 }), ints(graph, groups)]),
            graph.node("Shape", [x], { start: 2 }),
          ],
          { axis: 0 },
        ),
      ]),
    );
    const average = mean(grouped);
    const squares = mean(graph.node("Mul", [grouped, grouped]));
    const variance = graph.node("Sub", [squares, graph.node("Mul", [average, average])]);
    const epsilon = graph.weight([1], { dtype: isStashed ? "float32" : of.type, values: [1e-5] });
    const deviation = graph.node("Sqrt", [graph.node("Add", [variance, epsilon])]);
    const normal = graph.node("Div", [graph.node("Sub", [grouped, average]), deviation]);
    const code = of.type === "float16" ? 10 : float;
    const byChannel = isStashed
      ? graph.node("Cast", [flat(graph.node("Reshape", [normal, shape]))], { to: code })
      : normal;
    const row = (value: number) =>
      graph.node("Reshape", [parameter(graph, of, value), ints(graph, 1, -1, 1)]);
    const scaled = graph.node("Mul", [row(1), byChannel]);
    return graph.node("Reshape", [graph.node("Add", [scaled, row(0)]), shape]);
  },
};

const twins: Readonly<Record<string, Twin>> = {
  GroupNormalization: groupNorm,
  Mish: {
    node: (graph, x) => graph.node("Mish", [x]),
    body: (graph, x) => graph.node("Mul", [x, graph.node("Tanh", [graph.node("Softplus", [x])])]),
  },
  Swish: {
    node: (graph, x) => graph.node("Swish", [x]),
    // A constant in its place would be joined, which the one inside the function is not, behind its Cast (ONNX Runtime 1.30).
    body(graph, x, { type }) {
      const scaled = graph.node("Mul", [graph.input("alpha", [], type), x]);
      return graph.node("Mul", [x, graph.node("Sigmoid", [scaled])]);
    },
  },
  CenterCropPad: {
    node: (graph, x) => graph.node("CenterCropPad", [x, ints(graph, 24, 80)], { axes: [2, 3] }),
    // Of 32 rows 24, of 32 columns 80.
    body(graph, x, { type }) {
      const padded = graph.node("Pad", [x, ints(graph, 0, 0, 0, 24, 0, 0, 0, 24), graph.scalar(0, type)]);
      return graph.node("Slice", [padded, ints(graph, 4), ints(graph, 28), ints(graph, 2)]);
    },
  },
};

const images: readonly Sizes[] = [
  [1, 64, 32, 32],
  [8, 320, 32, 32],
];
const shapesOf = (name: string): readonly Sizes[] =>
  name === "CenterCropPad"
    ? images
    : [...images, [2, 64, 4096], [2, 32, 8, 32, 32], ["batch", 64, 32, 32], ["batch", 64, "length"]];
const opsetsOf = (name: string) =>
  ({ GroupNormalization: [18, 21], Swish: [24] })[name] ?? ([18] as readonly number[]);

const built = (of: Case, make: (graph: GraphBuilder, x: string, of: Case) => string) =>
  model({ name: "twin", opset: of.opset }, (graph) => {
    graph.output(make(graph, graph.input("x", of.sizes, of.type), of), of.type);
  });

const cases = Object.keys(twins).flatMap((name) =>
  opsetsOf(name).flatMap((opset) =>
    shapesOf(name).flatMap((sizes) =>
      (["float32", "float16"] as const).map((type) => [name, { type, sizes, opset }] as const),
    ),
  ),
);

const inlining = stackIds.filter((id) => Object.keys(stacks[id].inlines).length > 0);

describe.each(inlining)("on %s", (stack) => {
  it.each(cases)("%s takes what its function takes: %o", (name, of) => {
    const twin = twins[name];
    invariant(twin !== undefined, "it is a key");
    const [node, body] = [price(built(of, twin.node), stack), price(built(of, twin.body), stack)];
    expect(node.timeline.kernels).toBe(body.timeline.kernels);
    expect(node.timeline.kernels).toBeGreaterThan(1);
    const ratio = node.timeline.microseconds / body.timeline.microseconds;
    expect(Math.abs(ratio - 1)).toBeLessThan(0.03);
  });

  it("takes longer than the operator where that is a kernel", () => {
    const of: Case = { type: "float16", sizes: [8, 320, 64, 64], opset: 21 };
    const bytes = built(of, groupNorm.node);
    expect(price(bytes, stack).timeline.microseconds).toBeGreaterThan(
      2 * price(bytes, "tensorrt").timeline.microseconds,
    );
  });
});

test("what a stack inlines has a function that is described, and a twin here", () => {
  const inlined = new Set(inlining.flatMap((id) => Object.keys(stacks[id].inlines)));
  expect([...inlined].sort()).toEqual(Object.keys(twins).sort());
  for (const type of inlined) expect(findOp("", type)?.body).toBeDefined();
});
