/** What findings claim for an operator that their author is told to write, against the price of the file that has it. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { attention, linear } from "../../fixtures/layers.ts";
import { stackIds, stacks } from "../../src/hardware/stacks.ts";
import { recognisesPatterns } from "../../src/lint/fused-saving.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { type LintOptions, lint } from "../rules/lint.ts";

type Build = (graph: GraphBuilder) => void;

function reported(build: Build, options: LintOptions) {
  using opened = modelFromBytes(model({ name: "test", opset: 23, irVersion: 10 }, build));
  return lint(opened, options);
}

/** What a finding of a code claims, 0 without one, and what the other file takes less. */
function claimedAndMade(code: string, written: Build, advised: Build, options: LintOptions) {
  const [before, after] = [written, advised].map((build) => reported(build, options));
  const claimed = before?.findings.find((finding) => finding.code === code)?.saves?.microseconds ?? 0;
  return { claimed, made: (before?.predicted.microseconds ?? 0) - (after?.predicted.microseconds ?? 0) };
}

interface Form {
  readonly batch: number;
  readonly length: number;
  readonly heads: number;
  readonly headDim: number;
}

const forms: readonly Form[] = [
  { batch: 2, length: 64, heads: 12, headDim: 64 },
  { batch: 1, length: 512, heads: 16, headDim: 64 },
  { batch: 4, length: 197, heads: 6, headDim: 64 },
];

const shape = (graph: GraphBuilder, values: readonly number[]) =>
  graph.weight([values.length], { dtype: "int64", values });

const toHeads = (graph: GraphBuilder, apart: string) =>
  graph.node("Transpose", [apart], { perm: [0, 2, 1, 3] });

/** Projections of one input, of [batch, length, heads, head_dim]; what `core` makes of them is merged and projected. */
function layer(
  graph: GraphBuilder,
  { batch, length, heads, headDim }: Form,
  core: (q: string, k: string, v: string) => string,
): void {
  const width = heads * headDim;
  const x = graph.input("x", [batch, length, width]);
  const [q = "", k = "", v = ""] = ["q", "k", "v"].map((name) =>
    graph.node("Reshape", [
      linear(graph, x, width, width, { name }),
      shape(graph, [batch, length, heads, headDim]),
    ]),
  );
  const merged = graph.node("Reshape", [toHeads(graph, core(q, k, v)), shape(graph, [batch, length, width])]);
  graph.output(linear(graph, merged, width, width, { name: "out" }));
}

/** Keys are turned on their way to their heads, as exporters write them. */
const turned =
  (form: Form): Build =>
  (graph) =>
    layer(graph, form, (q, k, v) => {
      const keys = graph.node("Transpose", [k], { perm: [0, 2, 3, 1] });
      const scores = graph.node("MatMul", [toHeads(graph, q), keys]);
      const weights = graph.node("Softmax", [graph.node("Mul", [scores, graph.scalar(0.125)])], { axis: -1 });
      return graph.node("MatMul", [weights, toHeads(graph, v)]);
    });

const turnedAfter =
  (form: Form): Build =>
  (graph) =>
    layer(graph, form, (...apart) => {
      const [q = "", k = "", v = ""] = apart.map((value) => toHeads(graph, value));
      return attention(graph, q, k, v, form.headDim);
    });

const operator =
  (form: Form): Build =>
  (graph) =>
    layer(graph, form, (...apart) =>
      graph.node(
        "Attention",
        apart.map((value) => toHeads(graph, value)),
      ),
    );

const telling = stackIds.filter((id) => !stacks[id].fuses.attention);

describe.each(telling)("on %s", (stack) => {
  it.each(forms)("TC401 claims what the file with Attention takes less: %o", (form) => {
    for (const written of [turned(form), turnedAfter(form)]) {
      const { claimed, made } = claimedAndMade("TC401", written, operator(form), { stack });
      expect(made).toBeGreaterThan(0);
      expect(claimed).toBeCloseTo(made, 6);
    }
  });
});

type Three = (graph: GraphBuilder, x: string, width: number) => readonly string[];

const apart: Three = (graph, x, width) =>
  ["q", "k", "v"].map((name) => linear(graph, x, width, width, { name }));

const splitting = { axis: -1, num_outputs: 3 };

const together: Three = (graph, x, width) =>
  graph.nodes("Split", [linear(graph, x, width, 3 * width, { name: "qkv" })], splitting, { outputs: 3 });

/** One attention whose operands are projections of one input. */
const projected =
  ({ batch, length, heads, headDim }: Form, projections: Three): Build =>
  (graph) => {
    const width = heads * headDim;
    const operands = projections(graph, graph.input("x", [batch, length, width]), width);
    graph.output(graph.node("Attention", operands, { q_num_heads: heads, kv_num_heads: heads }));
  };

describe.each(stackIds.filter((id) => !recognisesPatterns(stacks[id])))("on %s", (stack) => {
  it.each(forms)("TC402 claims what the file with one product and a Split takes less: %o", (form) => {
    const [written, advised] = [projected(form, apart), projected(form, together)];
    const { claimed, made } = claimedAndMade("TC402", written, advised, { stack });
    expect(claimed).toBeCloseTo(Math.max(0, made), 6);
  });
});

describe("attention that is one kernel", () => {
  const recognising = stackIds.filter((id) => stacks[id].fuses.attention && id !== "tc-runtime");

  it.each(recognising)("takes as long written out as by its operator on %s", (stack) => {
    const [written, whole] = [turned, operator].map((build) =>
      forms.map((form) => reported(build(form), { stack }).predicted.microseconds),
    );
    expect(written).toEqual(whole);
  });
});
