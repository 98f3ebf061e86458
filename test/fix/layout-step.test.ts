/** The layout step: what another layout makes of kernels, by name and by time, and when it is taken. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { ruleFixtures } from "../../fixtures/rules.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { siteOf } from "../../src/facts/nhwc-body.ts";
import { decideSafe } from "../../src/fix/decide.ts";
import { decideLayout } from "../../src/fix/decide-layout.ts";
import type { FixSettings } from "../../src/fix/pipeline.ts";
import { priced } from "../../src/fix/prices.ts";
import { runStages } from "../../src/fix/stages.ts";
import { invariant } from "../../src/ir/errors.ts";
import { labelOf } from "../../src/ir/model.ts";
import { modelFromBytes, type OpenModel } from "../../src/onnx/open.ts";
import { align } from "../../src/passes/align/align.ts";
import { channelsLast } from "../../src/passes/channels-last/channels-last.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { changeBetween } from "../../src/workload/change.ts";
import type { Step } from "../../src/workload/timeline.ts";
import type { Workload } from "../../src/workload/workload.ts";
import { lint, targetOf } from "../rules/lint.ts";

const cost = createCostModel();

const settings: FixSettings = {
  target: targetOf("cudnn", "fp16"),
  cost,
  minSaving: 0.005,
  onlyWhereFaster: true,
  passes: [align, channelsLast],
  options: { halfType: "float16", halfIo: false, ranges: undefined, nhwcIo: false, nhwcForm: "portable" },
};
const whereFaster = { ...settings, options: { ...settings.options, nhwcOnlyWhereFaster: true } };

function network(behind: (graph: GraphBuilder, x: string) => string, name?: string): OpenModel {
  const bytes = model({ name: "network", opset: 17 }, (graph) => {
    const pads = [1, 1, 1, 1];
    const w = () => graph.weight([64, 64, 3, 3]);
    const x = graph.input("x", [32, 64, 56, 56]);
    const h = graph.node("Conv", [x, w()], { pads }, name === undefined ? {} : { name });
    graph.output(graph.node("Conv", [behind(graph, h), w()], { pads }));
  });
  return modelFromBytes(bytes);
}

function inNhwc(before: OpenModel): Workload {
  return priced(runStages(before, settings).fixed.model, settings);
}

const namesOf = ({ timeline }: Workload) =>
  timeline.steps.map(({ nodes: [node], scope }) => node && labelOf(siteOf(node, scope).node));
const ofType = ({ timeline }: Workload, type: string): Step[] =>
  timeline.steps.filter(({ nodes: [node] }) => node?.opType === type);

describe("kernels in NHWC", () => {
  it("are known by the nodes of the file, and without names by what they do", () => {
    const named = inNhwc(network((graph, x) => graph.node("Relu", [x]), "first"));
    expect(namesOf(named)).toContain("first");
    const opened = network((graph, x) => graph.node("Relu", [x]));
    const { steps } = changeBetween(priced(opened, settings), inNhwc(opened), cost);
    const kinds = steps.map(({ before, after }) => [before?.family, after?.family]);
    expect(kinds).toEqual([
      ["conv", "conv"],
      ["conv", "conv"],
      [undefined, "memory"],
      [undefined, "memory"],
    ]);
  });

  it("pay for a channel shuffle as before: its Transpose spells out no layout", () => {
    const opened = network((graph, x) => {
      const apart = graph.node("Reshape", [
        x,
        graph.weight([5], { dtype: "int64", values: [32, 2, 32, 56, 56] }),
      ]);
      const turned = graph.node("Transpose", [apart], { perm: [0, 2, 1, 3, 4] });
      return graph.node("Reshape", [turned, graph.weight([4], { dtype: "int64", values: [32, 64, 56, 56] })]);
    });
    const [before] = ofType(priced(opened, settings), "Transpose");
    const after = ofType(inNhwc(opened), "Transpose").filter(({ scope }) => !scope.isMain);
    expect(after.map(({ microseconds }) => microseconds)).toEqual([before?.microseconds]);
  });

  it("read weights as weights, in a function's body too", () => {
    const opened = network((graph, x) => {
      const parameters = [0, 1, 2, 3].map(() => graph.weight([64]));
      return graph.node("BatchNormalization", [graph.node("Relu", [x]), ...parameters]);
    });
    const [before] = ofType(priced(opened, settings), "BatchNormalization");
    const [after] = ofType(inNhwc(opened), "BatchNormalization");
    expect(after?.scope.isMain).toBe(false);
    expect(after?.work).toEqual(before?.work);
  });
});

function flawed(): Uint8Array {
  const fixture = ruleFixtures["TC301"];
  invariant(fixture !== undefined, "every rule has its models");
  return fixture.bad();
}

describe("the layout step", () => {
  it("is taken where it is faster beyond doubt, or asked for", () => {
    const opened = modelFromBytes(flawed());
    expect(runStages(opened, whereFaster).states.at(-1)?.step).toBe("layout");
    expect(runStages(opened, whereFaster).fixed.changed).toBe(true);
    const least = { ...whereFaster, minSaving: 0.9 };
    const { fixed } = runStages(opened, least);
    expect(fixed.changed).toBe(false);
    const message =
      "everything stays NCHW: NHWC saves less than --min-saving in the whole model; --layout nhwc converts it all the same";
    expect(fixed.notes).toContainEqual(expect.objectContaining({ kind: "blocked", message }));
    expect(runStages(opened, { ...settings, minSaving: 0.9 }).fixed.changed).toBe(true);
  });

  it("is TC301's, to the last digit", () => {
    using opened = modelFromBytes(flawed());
    const { account, groups } = lint(opened, { decided: true });
    const step = account.find((each) => each.step === "layout");
    expect(groups.find(({ code }) => code === "TC301")?.saves).toMatchObject({
      microseconds: step?.saves?.microseconds,
      low: step?.saves?.low,
      high: step?.saves?.high,
    });
  });

  describe("hides padding", () => {
    const pads = [1, 1, 1, 1];
    const networkOf = (build: (graph: GraphBuilder, y: string) => string, channels: number, size = 128) =>
      modelFromBytes(
        model({ name: "padded", opset: 17 }, (graph) => {
          const inputs = [graph.input("x", [1, 64, size, size]), graph.weight([64, 64, 3, 3])];
          const x = graph.node("Conv", inputs, { pads });
          graph.output(
            build(
              graph,
              graph.node("Conv", [x, graph.weight([channels, 64, 3, 3])], { pads }, { name: "odd" }),
            ),
          );
        }),
      );
    const turned = (opened: OpenModel) =>
      runStages(opened, { ...settings, passes: [channelsLast] }).fixed.model;
    const leftOf = (opened: OpenModel) => {
      const { groups, unlisted } = lint(opened, { decided: true, verbose: true });
      return [...groups, ...(unlisted?.groups ?? [])].find(({ code }) => code === "TC101")?.left;
    };

    it("that does not pay: left for the reason of the file before", () => {
      using opened = networkOf((graph, y) => graph.node("DepthToSpace", [y], { blocksize: 5 }), 50, 256);
      expect(leftOf(opened)).toMatch(/^padding costs more in the layers/);
      expect(leftOf(turned(opened))).toBe(leftOf(opened));
    });

    it("that pays: --fix makes it behind that step", () => {
      using opened = networkOf(
        (graph, y) => graph.node("Conv", [y, graph.weight([64, 250, 3, 3])], { pads }),
        250,
      );
      const odd = (of: OpenModel) =>
        lint(of, { decided: true, verbose: true }).groups.find(({ code }) => code === "TC101");
      expect(odd(opened)).toMatchObject({ left: null, step: "safe" });
      expect(odd(turned(opened))).toMatchObject({ left: null, step: "safe", fix: odd(opened)?.fix });
    });

    it("is made where NHWC is, and what stayed in NCHW stays so", () => {
      using opened = networkOf((graph, y) => {
        const behind = graph.node("Conv", [y, graph.weight([64, 250, 3, 3])], { pads });
        const depthwise = { pads: [3, 3, 3, 3], group: 64 };
        const kept = graph.node(
          "Conv",
          [graph.input("z", [1, 64, 64, 64]), graph.weight([64, 1, 7, 7])],
          depthwise,
          { name: "kept" },
        );
        graph.output(kept);
        return behind;
      }, 250);
      const leaveOut = (_: string, part: string | undefined) => (part === "kept" ? "slower" : undefined);
      const layout = { ...settings, passes: [channelsLast], leaveOut };
      const file = runStages(opened, layout).fixed.model;
      const typesIn = ({ graph }: OpenModel) =>
        graph.nodes.map(({ domain, opType }) => `${domain}::${opType}`);
      expect(typesIn(file)).toEqual(expect.arrayContaining(["tc_lint.nhwc::Conv", "::Conv"]));
      const { fixed } = decideSafe(file, { ...settings, passes: [fold, align] });
      expect(fixed.notes.filter(({ kind }) => kind === "changed").map(({ pass }) => pass)).toEqual(["align"]);
      expect(typesIn(fixed.model)).toEqual(typesIn(file));
    });
  });

  it("leaves convolutions of three spatial axes to their author, and says why", () => {
    const bytes = model({ name: "video", opset: 17 }, (graph) => {
      let x = graph.input("x", [4, 256, 8, 14, 14]);
      const pads = [1, 1, 1, 1, 1, 1];
      for (let layer = 0; layer < 4; layer++)
        x = graph.node("Conv", [x, graph.weight([256, 256, 3, 3, 3])], { pads });
      graph.output(x);
    });
    using opened = modelFromBytes(bytes);
    const report = lint(opened, { decided: true, verbose: true });
    const group = [...report.groups, ...(report.unlisted?.groups ?? [])].find(({ code }) => code === "TC301");
    expect(group).toMatchObject({ step: "author", left: "NHWC forms are written for two spatial axes" });
  });
});

/** Convolutions that gain, and behind a norm a stage of which the first does and depthwise ones lose. */
function stages(): Uint8Array {
  const channels = 384;
  return model({ name: "stages", opset: 17 }, (graph) => {
    const turned = (value: string, perm: number[]) => graph.node("Transpose", [value], { perm });
    const conv = (x: string, name: string, sizes: number[], attributes: Record<string, number | number[]>) =>
      graph.node("Conv", [x, graph.weight(sizes)], attributes, { name });
    let x = conv(graph.input("x", [1, 64, 56, 56]), "stem", [64, 64, 3, 3], { pads: [1, 1, 1, 1] });
    x = conv(x, "second", [192, 64, 3, 3], { pads: [1, 1, 1, 1], strides: [2, 2] });
    const scales = [graph.weight([192]), graph.weight([192])];
    x = graph.node("LayerNormalization", [turned(x, [0, 2, 3, 1]), ...scales], { axis: -1 });
    x = conv(turned(x, [0, 3, 1, 2]), "down", [channels, 192, 2, 2], { strides: [2, 2] });
    for (let block = 0; block < 9; block++) {
      const depthwise = { pads: [3, 3, 3, 3], group: channels };
      const inner = turned(conv(x, `block${block}`, [channels, 1, 7, 7], depthwise), [0, 2, 3, 1]);
      const product = graph.node("MatMul", [inner, graph.weight([channels, channels])]);
      x = graph.node("Add", [x, turned(product, [0, 3, 1, 2])]);
    }
    graph.output(x);
  });
}

describe("a region that loses", () => {
  it("is decided again where its surroundings are turned, as --fix does in its next round", () => {
    using opened = modelFromBytes(stages());
    const layout = { ...whereFaster, passes: [channelsLast], minSaving: 0 };
    const decision = decideLayout(opened, layout, priced(opened, layout));
    const named = decision?.regions.map(({ convolutions }) => convolutions.map(labelOf));
    expect(named).toEqual([
      ["stem", "second"],
      ["down", "block0"],
    ]);
    const nodes = new Set(opened.graph.nodes);
    for (const { convolutions } of decision?.regions ?? [])
      expect(convolutions.every((node) => nodes.has(node))).toBe(true);
    const { fixed } = runStages(opened, layout);
    expect(fixed.regions.map(({ parts }) => parts)).toEqual(named);
    const written = priced(fixed.model, layout).timeline;
    expect(decision?.after.timeline.microseconds).toBeCloseTo(written.microseconds, 6);
  });
});
