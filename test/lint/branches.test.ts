/** What is saved inside branches of an If is what the model takes less: the slower branch, whichever that is once both are mended. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { type StackId, stackIds } from "../../src/hardware/stacks.ts";
import type { Precision } from "../../src/hardware/target.ts";
import type { ModelReport } from "../../src/lint/result.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { lint } from "../rules/lint.ts";
import { type Body, bodies, branching, type Choice } from "./branching.ts";
import { expectParts, expectSteps, rounding } from "./sums.ts";

/** A kernel a node, and all that is found listed: in branches it is their author's. */
function reportOf(body: Body, precision: Precision = "fp16", stack: StackId = "cudnn"): ModelReport {
  using opened = modelFromBytes(branching(body));
  return lint(opened, { precision, stack, decided: true, isToldInTarget: true });
}

const relus = (count: number): Body => Array.from({ length: count }, () => "relu");
const authored = ({ groups }: ModelReport) =>
  groups.reduce((sum, { step, saves }) => sum + (step === "author" ? (saves?.microseconds ?? 0) : 0), 0);
/** The one way, in a branch beside an empty one: what the main graph has, `--fix` mends itself. */
const alone = (body: Body): Body => [{ yes: body, no: [] }];
const notice = ({ notices }: ModelReport) => notices.find(({ code }) => code === "branch")?.message;
const predictedOf = (body: Body, precision?: Precision, stack?: StackId) =>
  reportOf(body, precision, stack).predicted.microseconds;

describe("what a branch could save", () => {
  const yes: Body = ["gelu", "odd", "gelu"];

  it("is all of it where the other branch takes little", () => {
    expect(authored(reportOf([{ yes, no: [] }]))).toBeCloseTo(authored(reportOf([{ yes, no: relus(2) }])), 9);
    expect(authored(reportOf([{ yes, no: [] }]))).toBeGreaterThan(30);
  });

  it("is what it takes longer where the other one comes near, whichever comes first", () => {
    const lead = predictedOf([{ yes, no: [] }]) - predictedOf([{ yes: [], no: relus(40) }]);
    for (const body of [
      { yes, no: relus(40) },
      { yes: relus(40), no: yes },
    ])
      expect(authored(reportOf([body]))).toBeCloseTo(lead, 9);
  });

  it("is nothing where the other takes as long and has no flaw", () => {
    const time = predictedOf([{ yes, no: [] }]);
    const count = Math.ceil((time - predictedOf([])) / (predictedOf(["relu"]) - predictedOf([])));
    const report = reportOf([{ yes, no: relus(count) }]);
    expect(authored(report)).toBe(0);
    expect(report.uncertain.count).toBeGreaterThan(0);
    expect(notice(report)).toContain("else_branch is priced");
  });

  it("is what it saves outside of branches where both have the same flaw", () => {
    const report = reportOf([{ yes, no: yes }]);
    expect(authored(report)).toBeCloseTo(authored(reportOf(alone(yes))), 9);
    expect(notice(report)).toContain("which takes as long as another");
    // The time of kernels is that of a run, which has one of the two.
    for (const { saves, step } of report.groups)
      if (step === "author") expect(saves?.of).toBeLessThan(report.predicted.microseconds);
  });

  it("is what both save where each has a flaw of its own, half of it each one's", () => {
    const [gelu, odd] = [authored(reportOf(alone(["gelu", "gelu"]))), authored(reportOf(alone(["odd"])))];
    const level = predictedOf(alone(["odd"])) - predictedOf(alone(["gelu", "gelu"]));
    const report = reportOf([{ yes: ["odd"], no: ["gelu", "gelu"] }]);
    expect(authored(report)).toBeCloseTo(Math.min(level + gelu, odd), 9);
    const [both] = [authored(report) - level];
    const ofGelu = report.groups.filter(({ code }) => code === "TC409");
    expect(ofGelu.reduce((sum, { saves }) => sum + (saves?.microseconds ?? 0), 0)).toBeCloseTo(both / 2, 9);
  });

  it("leaves out what is flawed in a branch that never counts", () => {
    const report = reportOf([{ yes: ["odd", "odd", "odd"], no: ["gelu"] }]);
    expect(report.groups.map(({ code }) => code)).not.toContain("TC409");
    expect(authored(report)).toBeCloseTo(authored(reportOf(alone(["odd", "odd", "odd"]))), 9);
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

/** What `--fix` and the author save. */
const savedOf = (report: ModelReport) =>
  authored(report) + (report.account.find(({ step }) => step === "safe")?.saves?.microseconds ?? 0);

const inside = (body: Body): Body[] => paths(body).map((way) => ["relu", ...way]);

/** Every way that a run may go, without a choice. */
function paths(body: Body): readonly Body[] {
  return body.reduce<readonly Body[]>(
    (before, part) => {
      const ways = typeof part === "string" ? [[part]] : [part.yes, part.no].flatMap(inside);
      return before.flatMap((start) => ways.map((way) => [...start, ...way]));
    },
    [[]],
  );
}

describe("the account of a model with branches", () => {
  it.each(["cudnn", "ort-cuda"] as const)(
    "adds up, and ends at the slowest of all ways through it, each mended as a file of its own (%s)",
    (stack) => {
      fc.assert(
        fc.property(bodies.body, bodies.body, (yes, no) => {
          const ways = paths([{ yes, no }]);
          fc.pre(ways.length <= 12);
          const report = reportOf([{ yes, no }], "fp16", stack);
          expectSteps(report);
          expectParts(report);
          // In branches nothing is padded or joined, whichever of them is the dearer one behind what is folded.
          for (const { code, fix } of report.groups)
            if (code === "TC102" || code === "TC409") expect(fix).toBe("none");
          for (const { saves } of report.findings)
            expect(saves?.microseconds ?? 0).toBeLessThanOrEqual((saves?.of ?? 0) + rounding);
          expect(report.account[0]?.microseconds).toBeCloseTo(predictedOf([{ yes, no }], "as-is", stack), 6);
          const files = ways.map((way) => reportOf(alone(way.slice(1)), "fp16", stack));
          const times = files.map(({ predicted }) => predicted.microseconds);
          expect(report.predicted.microseconds).toBeCloseTo(Math.max(...times), 6);
          const mended = files.map((file, index) => (times[index] ?? 0) - savedOf(file));
          expect(Math.max(...times) - savedOf(report)).toBeCloseTo(Math.max(...mended), 6);
        }),
        { numRuns: 30 },
      );
    },
  );

  it.each(stackIds)(
    "is that of the file at aligned sizes, where both branches are off them (%s)",
    (stack) => {
      const ofWidths = (widths: readonly [number, number]): ModelReport => {
        using opened = modelFromBytes(
          model({ name: "prompt and step", opset: 17 }, (graph) => {
            const x = graph.input("x", [512, 1024], "float16");
            const [then_branch, else_branch] = widths.map((size, index) => {
              const inner = graph.inner(`branch${index}`);
              const weight = inner.weight([1024, size], { dtype: "float16" });
              inner.output(inner.node("MatMul", [x, weight]), "float16");
              return { graph: inner };
            });
            if (then_branch === undefined || else_branch === undefined) return;
            const condition = graph.input("condition", [], "bool");
            graph.output(graph.node("If", [condition], { then_branch, else_branch }), "float16");
          }),
        );
        return lint(opened, { stack, decided: true });
      };
      for (const [first, second] of [
        [4097, 4097],
        [4097, 4001],
        [4001, 4097],
        [4097, 4096],
      ] as const) {
        const off = ofWidths([first, second]);
        const aligned = ofWidths([paddedWidth(off, first), paddedWidth(off, second)]);
        expectParts(off);
        expect(off.predicted.microseconds - authored(off)).toBeCloseTo(aligned.predicted.microseconds, 6);
      }
    },
  );
});

/** What TC102 says to pad N to. */
function paddedWidth({ groups }: ModelReport, size: number): number {
  const said = groups.find(({ code, message }) => code === "TC102" && message.includes(`from ${size} to `));
  return Number(said?.message.match(/ to (\d+)/)?.[1] ?? size);
}

describe("equal products of branches", () => {
  const width = 1001;
  function chosen(yes: number, no: number): ModelReport {
    const bytes = model({ name: "equal", opset: 17 }, (graph) => {
      graph.input("chosen", [], "bool");
      const x = graph.input("x", [256, width]);
      const branch = (name: string, products: number) => {
        const inner = graph.inner(name);
        let value = inner.node("Relu", [x]);
        for (let at = 0; at < products; at++)
          value = inner.node("MatMul", [value, inner.weight([width, width])]);
        inner.output(value);
        return { graph: inner };
      };
      const branches = { then_branch: branch("yes", yes), else_branch: branch("no", no) };
      graph.output(graph.node("If", ["chosen"], branches));
    });
    using opened = modelFromBytes(bytes);
    return lint(opened, { precision: "fp16", stack: "cudnn", decided: true });
  }

  it.each([
    [3, 1],
    [3, 0],
    [2, 2],
  ])("of one size that is off are one entry, whatever each is padded to: %i and %i", (yes, no) => {
    const { groups, findings } = chosen(yes, no);
    const found = groups.filter(({ code }) => code === "TC102");
    expect(found.map(({ findings: members }) => members.length)).toEqual([yes + no]);
    expect(found[0]?.message).toMatch(/off the multiple of 8/);
    // Where they are padded to different sizes, each finding has its own.
    for (const { message } of findings.filter(({ code }) => code === "TC102"))
      expect(message).toMatch(/1001×1001.* from 1001 to \d+/);
  });
});
