import { describe, expect, test } from "vitest";
import { type Dim, mulDims, sameDim, symbol } from "../../src/ir/dim.ts";
import type { Graph } from "../../src/ir/model.ts";
import { type Fact, ShapeError } from "../../src/ops/op.ts";
import { asTensor, tensor } from "../../src/ops/shape.ts";
import { type ContextOptions, infer, show } from "./context.ts";

const n = symbol("N");
const s = symbol("S");
const float = (...shape: Dim[]) => tensor("float32", shape);
const ints = (...elements: Dim[]) => tensor("int64", [elements.length], elements);
const scalar = (element: Dim) => tensor("int64", [], [element]);

const sequence = (element: Fact | undefined, length?: Dim): Fact => ({ kind: "sequence", element, length });

/** `length × element`. */
function describeFact(fact: Fact | undefined): string {
  if (fact?.kind === "sequence") return `${fact.length ?? "?"} x ${describeFact(fact.element)}`;
  if (fact?.kind === "optional") return `optional ${describeFact(fact.element)}`;
  return show(fact);
}

const result = (options: ContextOptions) => infer(options).map(describeFact).join("; ");
const run = (type: string, ...inputs: (Fact | undefined)[]) => result({ type, inputs });

describe("building", () => {
  test("a sequence has what all its elements share", () => {
    expect(run("SequenceConstruct", float(n, 3), float(n, 3))).toBe("2 x float32[N,3]");
    expect(run("SequenceConstruct", float(n, 3), float(n, 4))).toBe("2 x float32[N,?]");
    expect(run("SequenceConstruct", float(3), float(3, 4))).toBe("2 x float32[*]");
    expect(result({ type: "SequenceEmpty", attributes: { dtype: 7 } })).toBe("0 x int64[*]");
    expect(run("SequenceEmpty")).toBe("0 x float32[*]");
  });

  test("inserting and erasing change the length", () => {
    expect(run("SequenceInsert", sequence(tensor("float32", undefined), 0), float(2))).toBe("1 x float32[2]");
    expect(run("SequenceInsert", sequence(float(2), n), float(3), scalar(0))).toBe("N + 1 x float32[?]");
    expect(run("SequenceErase", sequence(float(2), 3))).toBe("2 x float32[2]");
    expect(run("SequenceErase", sequence(float(2)))).toBe("? x float32[2]");
    expect(run("SequenceLength", sequence(float(2), n))).toBe("int64[] = N");
    expect(run("SequenceLength", sequence(float(2)))).toBe("int64[]");
  });
});

describe("reading", () => {
  test("SequenceAt", () => {
    expect(run("SequenceAt", sequence(float(n, 3), 2), scalar(0))).toBe("float32[N,3]");
    expect(run("SequenceAt", float(2), scalar(0))).toBe("unknown");
  });

  test("two elements do not share a size that may differ", () => {
    const [mixed] = infer({ type: "SequenceConstruct", inputs: [float(2), float(3)] });
    const sizes = [0, 1].map((at) => {
      const [element] = infer({ type: "SequenceAt", inputs: [mixed, scalar(at)] });
      return asTensor(element).shape?.[0] ?? 0;
    });
    expect(sameDim(sizes[0] ?? 0, sizes[1] ?? 0)).toBe(false);
  });
});

describe("splitting and joining", () => {
  const split = (input: Fact, sizes?: Fact, attributes = {}) =>
    result({ type: "SplitToSequence", inputs: [input, sizes], attributes });

  test("SplitToSequence by a size, by sizes, into slices", () => {
    expect(split(float(6, n), scalar(2))).toBe("3 x float32[2,N]");
    expect(split(float(7, n), scalar(2))).toBe("4 x float32[?,N]");
    expect(split(float(mulDims(n, 4)), scalar(4))).toBe("N x float32[4]");
    expect(split(float(2, 6), ints(3, 3), { axis: 1 })).toBe("2 x float32[2,3]");
    expect(split(float(2, 6), ints(2, 4), { axis: -1 })).toBe("2 x float32[2,?]");
    expect(split(float(2, 6), tensor("int64", []))).toBe("? x float32[?,6]");
    expect(split(float(n, 6))).toBe("N x float32[1,6]");
    expect(split(float(n, 6), undefined, { keepdims: 0 })).toBe("N x float32[6]");
    expect(split(tensor("float32", undefined))).toBe("? x float32[*]");
    expect(() => split(float(4), scalar(0))).toThrow(ShapeError);
    expect(() => split(float(4), scalar(2), { axis: 1 })).toThrow(ShapeError);
  });

  const joined = (fact: Fact, attributes: ContextOptions["attributes"]) =>
    result({ type: "ConcatFromSequence", inputs: [fact], attributes: attributes ?? {} });

  test("ConcatFromSequence joins or stacks", () => {
    expect(joined(sequence(float(2, s), n), { axis: 0 })).toBe("float32[2*N,S]");
    expect(joined(sequence(float(2, s), n), { axis: -1, new_axis: 1 })).toBe("float32[2,S,N]");
    expect(joined(sequence(float(2, s)), { axis: 0 })).toBe("float32[?,S]");
    expect(joined(sequence(tensor("float32", undefined), 3), { axis: 0 })).toBe("float32[*]");
    const [mixed] = infer({ type: "SequenceConstruct", inputs: [float(2, 5), float(3, 5)] });
    expect(joined(mixed ?? float(), { axis: 0 })).toBe("float32[?,5]");
    expect(() => joined(sequence(float(2), 1), {})).toThrow(/axis is missing/);
  });

  test("what is split evenly comes together again", () => {
    const [parts] = infer({ type: "SplitToSequence", inputs: [float(mulDims(n, 4), 3), scalar(4)] });
    expect(joined(parts ?? float(), { axis: 0 })).toBe("float32[4*N,3]");
  });
});

test("SequenceMap runs its body on one element, and as often as there are elements", () => {
  const body: Graph = {
    name: "body",
    owner: undefined,
    nodes: [],
    inputs: [],
    outputs: [],
    annotated: new Set(),
    values: new Map(),
    span: { offset: 0, length: 0 },
  };
  let seen = "";
  let repeats: Dim | undefined;
  const options: ContextOptions = {
    type: "SequenceMap",
    attributes: { body },
    inputs: [sequence(float(n), 5), float(7), sequence(float(8), 5)],
    inferGraph(_, inputs, repeat) {
      seen = inputs.map(describeFact).join("; ");
      repeats = repeat?.([]);
      return [inputs[0], inputs[1]];
    },
  };
  expect(result(options)).toBe("5 x float32[N]; 5 x float32[7]");
  expect(seen).toBe("float32[N]; float32[7]; float32[8]");
  expect(repeats).toBe(5);
  expect(() => infer({ type: "SequenceMap", inputs: [sequence(float(n))] })).toThrow(/no body/);
});

describe("optionals", () => {
  test("wrap and unwrap", () => {
    expect(run("Optional", float(n))).toBe("optional float32[N]");
    expect(run("Optional")).toBe("optional unknown");
    expect(run("OptionalGetElement", { kind: "optional", element: sequence(float(2), 1) })).toBe(
      "1 x float32[2]",
    );
    expect(run("OptionalGetElement", float(2))).toBe("float32[2]");
  });

  test("presence is known for what cannot be absent, and for what is not there", () => {
    expect(run("OptionalHasElement", float(2))).toBe("bool[] = 1");
    expect(run("OptionalHasElement")).toBe("bool[] = 0");
    expect(run("OptionalHasElement", { kind: "optional", element: float(2) })).toBe("bool[]");
  });
});
