import { describe, expect, it } from "vitest";
import { type GraphBuilder, type ModelOptions, model } from "../../fixtures/builder.ts";
import { writtenGelu, writtenGroupNorm, writtenNorm } from "../../fixtures/layers.ts";
import { stackIds, stacks } from "../../src/hardware/stacks.ts";
import type { Finding } from "../../src/lint/result.ts";
import { hasGroupNorm } from "../../src/lint/written-group-norm.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { findingsIn, type LintOptions, lint } from "./lint.ts";

function find(code: string, build: (graph: GraphBuilder) => void, options?: LintOptions): Finding[] {
  return findingsIn(model({ name: "test" }, build), options).filter((finding) => finding.code === code);
}

describe("TC407", () => {
  const sizes = [8, 320, 64, 64];
  const norm =
    (then: (graph: GraphBuilder, y: string) => string = (_, y) => y, groups = 32) =>
    (graph: GraphBuilder) =>
      graph.output(then(graph, writtenGroupNorm(graph, graph.input("x", sizes), sizes, groups)));
  const silu = (graph: GraphBuilder, y: string) => graph.node("Mul", [graph.node("Sigmoid", [y]), y]);

  it("saves the passes behind the normalization, not the normalization", () => {
    const [finding, ...others] = find("TC407", norm());
    expect(others).toEqual([]);
    expect(finding?.data).toEqual({ groups: 32, nodes: 5, kernels: 3 });
    expect(finding?.saves?.low).toBeGreaterThan(0);
    expect(finding?.saves?.share).toBeLessThan(0.75);
  });

  it("is silent where the stack makes one kernel of it, or needs the pass anyway", () => {
    expect(find("TC407", norm(), { stack: "tensorrt" })).toEqual([]);
    expect(find("TC407", norm(), { stack: "tc-runtime" })).toEqual([]);
    expect(find("TC407", norm(silu), { stack: "inductor" })).toEqual([]);
    expect(find("TC407", norm(silu))).toHaveLength(1);
  });

  it("tells no stack to export what that has no kernel for", () => {
    const told = stackIds.filter((stack) => find("TC407", norm(), { stack }).length > 0);
    expect(told).toEqual(["cudnn"]);
    expect(told.filter((stack) => !hasGroupNorm(stacks[stack]))).toEqual([]);
  });

  const operator = (inputs: number) => (graph: GraphBuilder) => {
    const parameter = () => graph.weight([inputs]);
    const read = [graph.input("x", sizes), parameter(), parameter()];
    graph.output(graph.node("GroupNormalization", read, { num_groups: 32 }));
  };
  const since21 = { opset: 21, irVersion: 10 };
  const ofGroups = (graph: GraphBuilder) => {
    const shape = (...values: number[]) => graph.weight([values.length], { dtype: "int64", values });
    const apart = graph.node("Reshape", [graph.input("x", sizes), shape(8, 32, -1)]);
    const norm = graph.node("InstanceNormalization", [apart, graph.weight([32]), graph.weight([32])]);
    graph.output(graph.node("Reshape", [norm, shape(...sizes)]));
  };

  // Three kernels of channels' parameters, one of groups'.
  it.each([
    ["since opset 21", since21, operator(320), norm(), 3],
    ["before", { opset: 18 }, operator(32), ofGroups, 1],
  ] as const)(
    "finds the operator where the stack has no kernel of it: %s",
    (_, options, build, other, written) => {
      for (const stack of stackIds) {
        const reportOf = (of: (graph: GraphBuilder) => void, opset: Omit<ModelOptions, "name">) => {
          using opened = modelFromBytes(model({ name: "test", ...opset }, of));
          return lint(opened, { stack });
        };
        const before = reportOf(build, options);
        const found = before.findings.filter(({ code }) => code === "TC407");
        expect(found.length, stack).toBe(hasGroupNorm(stacks[stack]) ? 0 : 1);
        for (const { data, saves } of found) {
          expect(data).toEqual({ stack, kernels: expect.any(Number), written });
          const after = reportOf(other, { opset: 17 });
          const timeOf = ({ account }: typeof before) =>
            account.find(({ step }) => step === "precision")?.microseconds;
          const left = (timeOf(before) ?? Number.NaN) - (saves?.microseconds ?? 0);
          // Parameters of channels are read by the normalization, or behind it.
          expect(left / (timeOf(after) ?? 0)).toBeCloseTo(1, 4);
        }
      }
    },
  );

  it("leaves an InstanceNormalization alone that stands for itself", () => {
    const read = (graph: GraphBuilder) => {
      const [x, ones] = [graph.input("x", [8, 32, 4096]), graph.weight([32])];
      const plain = graph.node("InstanceNormalization", [x, ones, graph.weight([32])]);
      graph.output(graph.node("Mul", [plain, graph.weight([32, 1])]));
    };
    expect(find("TC407", read)).toEqual([]);
  });
});

describe("TC408", () => {
  const build =
    (kind: "layer" | "rms", rows = 512, width = 768) =>
    (graph: GraphBuilder) =>
      graph.output(writtenNorm(graph, graph.input("x", [rows, width]), width, kind));

  // H200, PyTorch 2.11, FP16: as written less as one operator.
  it.each([
    ["layer", 64, 768, 17.8 - 3.1],
    ["layer", 2048, 1024, 35.3 - 6.5],
    ["layer", 4096, 4096, 217.5 - 30.7],
    ["rms", 64, 768, 12.2 - 2.2],
    ["rms", 2048, 1024, 20.9 - 3.8],
    ["rms", 4096, 4096, 118.6 - 23.5],
  ] as const)("%s norm of %d×%d saves what was measured, within its interval", (kind, rows, width, saved) => {
    const [finding, ...others] = find("TC408", build(kind, rows, width));
    expect(others).toEqual([]);
    expect(finding?.saves?.low).toBeLessThan(saved);
    expect(finding?.saves?.microseconds).toBeLessThan(saved * 1.5);
  });

  it("says which operator, and where it exists", () => {
    const said = (["layer", "rms"] as const).map((kind) => find("TC408", build(kind))[0]?.data);
    expect(said).toMatchObject([
      { kind: "LayerNorm", nodes: 9, kernels: 9, opset: 17 },
      { kind: "RMSNorm", nodes: 6, kernels: 6, opset: 23 },
    ]);
  });

  it("is silent where chains are joined", () => {
    for (const stack of ["ort-cuda", "tensorrt", "tc-runtime"] as const) {
      expect(find("TC408", build("layer"), { stack })).toEqual([]);
    }
  });

  it("leaves alone what is read in between, and means over other axes", () => {
    const leaking = (graph: GraphBuilder) => {
      const x = graph.input("x", [512, 768]);
      const squares = graph.node("Pow", [x, graph.scalar(2)]);
      const mean = graph.node("ReduceMean", [squares], { axes: [-1] });
      const root = graph.node("Sqrt", [graph.node("Add", [mean, graph.scalar(1e-3)])]);
      graph.output(graph.node("Div", [x, root]));
      graph.output(root);
    };
    const channels = (graph: GraphBuilder) => {
      const x = graph.input("x", [8, 64, 32, 32]);
      const mean = graph.node("ReduceMean", [graph.node("Mul", [x, x])], { axes: [1] });
      const root = graph.node("Sqrt", [graph.node("Add", [mean, graph.scalar(1e-3)])]);
      graph.output(graph.node("Div", [x, root]));
    };
    expect([...find("TC408", leaking), ...find("TC408", channels)]).toEqual([]);
  });
});

describe("TC409", () => {
  const build =
    (form: "erf" | "tanh", rows = 512, width = 3072) =>
    (graph: GraphBuilder) =>
      graph.output(writtenGelu(graph, graph.input("x", [rows, width]), form));

  // H200, PyTorch 2.11, FP16: as written less as one operator. There numbers are no operands, as a file's constants are.
  it.each([
    ["erf", 64, 768, 6.1 - 1.4],
    ["erf", 512, 3072, 10.7 - 3],
    ["erf", 4096, 16384, 365.6 - 83.1],
    ["tanh", 64, 768, 9.6 - 1.3],
    ["tanh", 512, 3072, 16.2 - 2.7],
    ["tanh", 4096, 16384, 575.9 - 74.7],
  ] as const)("%s of %d×%d saves more than code saves, about twice", (form, rows, width, saved) => {
    const [finding] = find("TC409", build(form, rows, width));
    expect(finding?.saves?.microseconds).toBeGreaterThan(saved);
    expect(finding?.saves?.microseconds).toBeLessThan(2.2 * saved);
  });

  it("saves what the file with the operator takes less", () => {
    const whole = (graph: GraphBuilder) => graph.output(graph.node("Gelu", [graph.input("x", [512, 3072])]));
    const [written, one] = [build("erf"), whole].map((each) => {
      using opened = modelFromBytes(model({ name: "test", opset: 20 }, each));
      return lint(opened).predicted.microseconds;
    });
    const [finding] = find("TC409", build("erf"));
    expect(finding?.saves?.microseconds).toBeCloseTo((written ?? 0) - (one ?? 0), 6);
  });

  it("counts its nodes, whatever their order", () => {
    const said = (["erf", "tanh"] as const).map((form) => find("TC409", build(form))[0]?.data);
    expect(said).toEqual([
      { form: "erf", nodes: 5, kernels: 5 },
      { form: "tanh", nodes: 8, kernels: 8 },
    ]);
  });

  it("is silent where chains are joined", () => {
    for (const stack of ["ort-cuda", "tensorrt", "tc-runtime"] as const) {
      expect(find("TC409", build("erf"), { stack })).toEqual([]);
    }
  });

  it("is its author's where its numbers are near, and leaves what is another function", () => {
    const near = (number: number) => (graph: GraphBuilder) => {
      const x = graph.input("x", [512, 3072]);
      const inner = graph.node("Erf", [graph.node("Div", [x, graph.scalar(number)])]);
      const plus = graph.node("Add", [inner, graph.scalar(1)]);
      graph.output(graph.node("Mul", [graph.node("Mul", [x, plus]), graph.scalar(0.5)]));
    };
    // √2, as ONNX Runtime's fusion still takes it, and as it does not.
    const found = [Math.SQRT2, "1.4142", "1.414"]
      .map(Number)
      .map((number) => find("TC409", near(number)).map(({ fix }) => fix));
    expect(found).toEqual([["safe"], ["none"], []]);
  });

  it("leaves an Erf alone that is no GELU", () => {
    const other = (graph: GraphBuilder) => {
      const [x, y] = [graph.input("x", [512, 3072]), graph.input("y", [512, 3072])];
      const plus = graph.node("Add", [graph.node("Erf", [graph.node("Mul", [x, y])]), graph.scalar(1)]);
      graph.output(graph.node("Mul", [graph.node("Mul", [x, plus]), graph.scalar(0.5)]));
    };
    expect(find("TC409", other)).toEqual([]);
  });
});
