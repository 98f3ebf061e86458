/** What is saved inside a branch of an If is what the model takes less: the other branch may be what it takes from some point on. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { writtenGelu } from "../../fixtures/layers.ts";
import type { Precision } from "../../src/hardware/target.ts";
import type { ModelReport } from "../../src/lint/result.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { lint } from "../rules/lint.ts";
import { expectParts, expectSteps, rounding } from "./sums.ts";

/** A pass, GELU as its nodes, two products of an odd width, or one of two bodies. */
type Part = "relu" | "gelu" | "odd" | Choice;
type Body = readonly Part[];
interface Choice {
  readonly yes: Body;
  readonly no: Body;
}

const width = 512;

function place(graph: GraphBuilder, x: string, body: Body): string {
  return body.reduce((value, part) => placePart(graph, value, part), x);
}

function placePart(graph: GraphBuilder, value: string, part: Part): string {
  if (part === "relu") return graph.node("Relu", [value]);
  if (part === "gelu") return writtenGelu(graph, value, "erf");
  if (part === "odd") {
    const wide = graph.node("MatMul", [value, graph.weight([width, 4001])]);
    return graph.node("MatMul", [graph.node("Relu", [wide]), graph.weight([4001, width])]);
  }
  const branch = (name: string, body: Body) => {
    const inner = graph.inner(`${value}_${name}`);
    inner.output(place(inner, value, body));
    return { graph: inner };
  };
  const branches = { then_branch: branch("yes", part.yes), else_branch: branch("no", part.no) };
  return graph.node("If", ["chosen"], branches);
}

/** A kernel a node, and all that is found listed: in branches it is their author's. */
function reportOf(body: Body, precision: Precision = "fp16"): ModelReport {
  const bytes = model({ name: "branches", opset: 17 }, (graph) => {
    graph.input("chosen", [], "bool");
    graph.output(place(graph, graph.input("x", [256, width]), ["relu", ...body]));
  });
  using opened = modelFromBytes(bytes);
  return lint(opened, { precision, decided: true });
}

const relus = (count: number): Body => Array.from({ length: count }, () => "relu");
const lastOf = ({ account }: ModelReport) => account.at(-1)?.microseconds ?? Number.NaN;
const authored = ({ groups }: ModelReport) =>
  groups.reduce((sum, { step, saves }) => sum + (step === "author" ? (saves?.microseconds ?? 0) : 0), 0);
const predictedOf = (body: Body, precision?: Precision) => reportOf(body, precision).predicted.microseconds;

describe("what a branch could save", () => {
  const yes: Body = ["gelu", "odd", "gelu"];

  it("is all of it where the other branch takes little", () => {
    expect(authored(reportOf([{ yes, no: [] }]))).toBeCloseTo(authored(reportOf([{ yes, no: relus(2) }])), 9);
    expect(authored(reportOf([{ yes, no: [] }]))).toBeGreaterThan(40);
  });

  it("is what it takes longer where the other one comes near, whichever comes first", () => {
    const lead = predictedOf([{ yes, no: [] }]) - predictedOf([{ yes: [], no: relus(40) }]);
    for (const body of [
      { yes, no: relus(40) },
      { yes: relus(40), no: yes },
    ])
      expect(authored(reportOf([body]))).toBeCloseTo(lead, 9);
  });

  it("is nothing where both take as long", () => {
    const report = reportOf([{ yes, no: yes }]);
    expect(authored(report)).toBe(0);
    expect(report.uncertain.count).toBeGreaterThan(0);
  });

  it("is what the branches around it leave, inside of several", () => {
    const inner: Choice = { yes, no: relus(20) };
    const whole = predictedOf([inner]);
    const leads = [relus(20), relus(30)].map((body) => whole - predictedOf(body));
    const report = reportOf([{ yes: [inner], no: relus(30) }]);
    expect(leads[0]).toBeGreaterThan(leads[1] ?? 0);
    expect(authored(report)).toBeCloseTo(leads[1] ?? 0, 9);
  });
});

const bodies = fc.letrec<{ body: Body; part: Part; choice: Choice }>((tie) => ({
  body: fc.array(tie("part"), { maxLength: 5 }),
  part: fc.oneof({ maxDepth: 2 }, fc.constantFrom<Part>("relu", "gelu", "odd"), tie("choice")),
  choice: fc.record({ yes: tie("body"), no: tie("body") }),
}));

describe("the account of a model with branches", () => {
  it("adds up, ends no lower than the cheaper branch, and begins as the file is stored", () => {
    fc.assert(
      fc.property(bodies.body, bodies.body, (yes, no) => {
        const report = reportOf([{ yes, no }]);
        expectSteps(report);
        expectParts(report);
        for (const { saves } of report.findings)
          expect(saves?.microseconds ?? 0).toBeLessThanOrEqual((saves?.of ?? 0) + rounding);
        const least = Math.min(predictedOf(yes), predictedOf(no));
        expect(lastOf(report)).toBeGreaterThanOrEqual(least - rounding);
        expect(report.account[0]?.microseconds).toBeCloseTo(predictedOf([{ yes, no }], "as-is"), 6);
      }),
      { numRuns: 40 },
    );
  });
});
