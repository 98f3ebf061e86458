/** Padding of what a step to NHWC turned: the file is turned back, padded, and turned again, in whatever order somebody asks. */
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { type FixOptions, fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { proveSame } from "../../src/fix/proof.ts";
import { openModel } from "../../src/onnx/open.ts";
import { type Bundle, bundle } from "../bundle.ts";
import { temporaryFolder } from "../cli/models.ts";
import { weight } from "../passes/padding.ts";

const folder = temporaryFolder();
let child: Bundle;
beforeAll(async () => {
  child = await bundle("src/verify/child.ts");
});
afterAll(() => {
  folder[Symbol.dispose]();
  child[Symbol.dispose]();
});

/** 61 channels between convolutions; `isNamed`: nodes have names of their own. */
function write(name: string, isNamed: boolean): string {
  const bytes = model({ name: "odd", opset: 17 }, (graph) => {
    const pads = [1, 1, 1, 1];
    const label = (layer: number) => (isNamed ? { name: `layer${layer}` } : {});
    let x = graph.input("x", [1, 32, 80, 80]);
    for (const [layer, [from, to]] of [
      [32, 61],
      [61, 61],
      [61, 32],
    ].entries()) {
      x = graph.node("Conv", [x, weight(graph, [to ?? 0, from ?? 0, 3, 3])], { pads }, label(layer));
      x = graph.node("Relu", [x], {}, isNamed ? { name: `relu${layer}` } : {});
    }
    graph.output(x);
  });
  return folder.write(name, bytes);
}

/** Where FP32 is TF32, and NHWC is not undone. */
const stack = "ort-cuda-nhwc";
const layout = { nhwc: true, verify: false, stack } as const satisfies FixOptions;
/** Nothing safe saves so much: what is asked for by name is made all the same. */
const unpadded = { ...layout, minSaving: 0.9 } as const;
const isPadded = ({ notes }: Awaited<ReturnType<typeof fix>>) =>
  notes.some(({ kind, pass }) => kind === "changed" && pass === "align");

describe.each([
  ["named", true, {}],
  ["unnamed", false, {}],
  ["its inputs and outputs in NHWC", true, { nhwcIo: true }],
] as const)("a file in NHWC, %s", (what, isNamed, more) => {
  const file = write(`${what.replaceAll(" ", "-")}.onnx`, isNamed);
  const beside = (name: string) => path.join(path.dirname(file), `${name}-${path.basename(file)}`);

  it("is padded behind that step, verified, to the time of one that is padded before it", async () => {
    const turned = beside("turned");
    expect(isPadded(await fix(file, { ...unpadded, ...more, output: turned }))).toBe(false);
    const report = await lint(turned, { stack });
    const found = report.groups.filter(({ code }) => code === "TC101");
    expect(found.length).toBeGreaterThan(0);
    expect(found.map(({ fix: by, left }) => [by, left])).toEqual(found.map(() => ["safe", null]));
    const output = beside("padded");
    expect(isPadded(await fix(turned, { output, verify: false, stack }))).toBe(true);
    const request = { path: turned, original: turned, candidate: output, permutations: new Map() };
    const proof = await proveSame({ ...request, half: undefined, childUrl: pathToFileURL(child.path) });
    expect(proof.kind).toBe("verified");
    const first = await fix(file, { ...layout, ...more, output: beside("both") });
    expect(isPadded(first)).toBe(true);
    const [one, other] = await Promise.all([output, beside("both")].map((each) => lint(each, { stack })));
    expect(one?.predicted.microseconds).toBeCloseTo(other?.predicted.microseconds ?? Number.NaN, 6);
    expect((await fix(output, { dryRun: true, stack })).changed).toBe(false);
  });

  it("has the nodes that it had", async () => {
    using before = openModel(beside("turned"));
    using after = openModel(beside("padded"));
    const typesIn = ({ graph }: typeof before) =>
      graph.nodes.map(({ domain, opType }) => `${domain}::${opType}`);
    expect(typesIn(after)).toEqual(typesIn(before));
  });
});
