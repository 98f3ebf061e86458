/** Passes with a defect, made here: what they do wrong is left out, and nothing else. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { fixModel } from "../../src/fix/fix.ts";
import type { FixSettings } from "../../src/fix/pipeline.ts";
import { proveSame } from "../../src/fix/proof.ts";
import { Patch } from "../../src/ir/patch.ts";
import { openModel } from "../../src/onnx/open.ts";
import { align } from "../../src/passes/align/align.ts";
import { channelsLast } from "../../src/passes/channels-last/channels-last.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { half } from "../../src/passes/half/half.ts";
import type { Pass, PassContext, PassName } from "../../src/passes/pass.ts";
import { encodeNumbers, MemoryBytes } from "../../src/passes/tensors.ts";
import { type Bundle, bundle } from "../bundle.ts";
import { floats, info, node, type types } from "../onnx/build.ts";
import { noise } from "../passes/folding.ts";
import { contentsOf, requestFor, settingsFor, writeExternal, writeInline } from "./models.ts";

let child: Bundle;
let folder: string;
beforeAll(async () => {
  child = await bundle("src/verify/child.ts");
});
afterAll(() => child[Symbol.dispose]());
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-unsound-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Fixes in place and counts the comparisons. */
async function fixed(file: string, settings: FixSettings, precision?: "fp16") {
  let comparisons = 0;
  const childUrl = pathToFileURL(child.path);
  const outcome = await fixModel(
    requestFor(file, {
      settings,
      promise: "verified with ONNX Runtime",
      verify: (original, candidate, { permutations }) => {
        comparisons += 1;
        return proveSame({ path: file, original, candidate, permutations, half: precision, childUrl });
      },
    }),
  );
  const failed = outcome.notes.filter(({ kind }) => kind === "failed");
  return { outcome, failed, comparisons };
}

/** x [8, 24] through `blocks` pairs of products, 24 → 67 → 24 wide, with a LayerNormalization between. */
function blocks(count: number): types.IGraphProto {
  const initializer: types.ITensorProto[] = [];
  const nodes: types.INodeProto[] = [];
  let last = "x";
  for (let block = 0; block < count; block++) {
    const name = (what: string) => `${what}${block}`;
    initializer.push(
      floats(name("into"), [24, 67], noise(24 * 67, block + 1)),
      floats(name("out"), [67, 24], noise(24 * 67, block + 50)),
      floats(name("scale"), [24], noise(24, block + 100)),
    );
    nodes.push(
      node("MatMul", [last, name("into")], [name("wide")], { name: name("up") }),
      node("Relu", [name("wide")], [name("r")]),
      node("MatMul", [name("r"), name("out")], [name("narrow")], { name: name("down") }),
      node("LayerNormalization", [name("narrow"), name("scale")], [name("n")]),
    );
    last = name("n");
  }
  nodes.push(node("Relu", [last], ["y"]));
  return { node: nodes, initializer, input: [info("x", [8, 24])], output: [info("y", [8, 24])] };
}

/** More than one: behind a Relu, one of them may be dead. */
const spoiledNumbers = 20;

/** Makes the first numbers of a weight 100 in every patch that has the part. */
function spoiled(pass: Pass, part: string, weight: string): Pass {
  return {
    ...pass,
    run: (context) => {
      const result = pass.run(context);
      if (result.parts?.includes(part) !== true) return result;
      const graph = result.patch.of(context.model.graph);
      const spec = graph.tensors.get(weight);
      if (spec === undefined || spec === null) throw new Error(`the patch writes ${weight}`);
      const bytes = new Uint8Array(spec.bytes.size);
      spec.bytes.readInto(0, bytes);
      bytes.set(encodeNumbers("float32", new Array<number>(spoiledNumbers).fill(100)), 0);
      graph.tensors.set(weight, { ...spec, bytes: new MemoryBytes(bytes) });
      return result;
    },
  };
}

/** Sets the first number of a stored tensor once. */
function spoiler(name: PassName, tensor: string): Pass {
  const run = ({ model, open }: PassContext) => {
    const patch = new Patch();
    const stored = model.graph.values.get(tensor)?.initializer;
    if (stored?.dtype !== "float32") return { patch, notes: [] };
    const bytes = new Uint8Array(open(stored).size);
    open(stored).readInto(0, bytes);
    const one = encodeNumbers("float32", [100]);
    if (Buffer.from(bytes.subarray(0, 4)).equals(one)) return { patch, notes: [] };
    bytes.set(one);
    patch
      .of(model.graph)
      .tensors.set(tensor, { dtype: "float32", dims: stored.dims, bytes: new MemoryBytes(bytes) });
    return { patch, notes: [{ kind: "changed", node: undefined, message: "spoiled" } as const] };
  };
  return { name, safe: true, run };
}

function widthOf(file: string, weight: string): number | undefined {
  using model = openModel(file);
  return model.graph.values.get(weight)?.initializer?.dims.at(-1);
}

function metadataOf(file: string): string | undefined {
  using model = openModel(file);
  return model.metadata.get("tc-lint.fix");
}

describe("one component that is padded wrong", () => {
  it("stays as it was, and the others are padded", async () => {
    const file = writeInline(folder, blocks(4));
    const settings = settingsFor([fold, spoiled(align, "up2: 67", "into2")]);
    const { outcome, failed, comparisons } = await fixed(file, settings);
    expect(outcome).toMatchObject({ changed: true, written: true, proof: { kind: "verified" } });
    const widths = ["into0", "into1", "into2", "into3"].map((name) => widthOf(file, name));
    expect(widths.map((width = 0) => (width % 8 === 0 ? "padded" : width))).toEqual([
      "padded",
      "padded",
      67,
      "padded",
    ]);
    expect(failed).toMatchObject([{ pass: "align", node: { name: "up2" } }]);
    expect(failed[0]?.message).toMatch(
      /align of "up2: 67" failed verification and is left out: output "y" differs/,
    );
    expect(comparisons).toBeLessThanOrEqual(2 + 2 + 8);
    expect(metadataOf(file)).toBe("align; verified with ONNX Runtime");
  });
});

describe("a pass that is wrong as a whole", () => {
  it.each([
    ["first", [spoiler("channels-last", "w2"), fold, align]],
    ["last", [fold, align, spoiler("channels-last", "w2")]],
  ])("is left out where it runs %s, with weights beside the model", async (_, passes) => {
    const file = writeExternal(folder);
    const { outcome, failed } = await fixed(file, settingsFor(passes));
    expect(outcome).toMatchObject({ changed: true, proof: { kind: "verified" } });
    expect(failed).toMatchObject([{ pass: "channels-last", node: undefined }]);
    expect(metadataOf(file)).toBe("fold, align; verified with ONNX Runtime");
    expect(readFileSync(file).length).toBe(outcome.bytes);
    using model = openModel(file);
    expect(model.graph.nodes.map(({ opType }) => opType)).toEqual(["Conv", "Relu", "Conv"]);
  });

  it("leaves the model alone where nothing else is done", async () => {
    const file = writeExternal(folder);
    const before = contentsOf(folder);
    const { outcome, failed } = await fixed(file, settingsFor([spoiler("channels-last", "w2")]));
    expect(outcome).toMatchObject({ changed: false, written: false, proof: null });
    expect(failed).toMatchObject([{ pass: "channels-last", message: expect.stringContaining("differs") }]);
    expect(contentsOf(folder)).toEqual(before);
  });

  it("is left alone by the next fix, which says the same", async () => {
    const file = writeInline(folder);
    const settings = settingsFor([fold, align, spoiler("channels-last", "w2")]);
    const first = await fixed(file, settings);
    expect(first.outcome.written).toBe(true);
    const before = contentsOf(folder);
    const again = await fixed(file, settings);
    expect(again.outcome).toMatchObject({ changed: false, written: false });
    expect(again.failed.map(({ pass }) => pass)).toEqual(first.failed.map(({ pass }) => pass));
    expect(contentsOf(folder)).toEqual(before);
  });
});

describe("parts of the other passes", () => {
  it("are the nodes that fold changed", async () => {
    const file = writeInline(folder);
    const settings = settingsFor([fold, spoiled(align, "first: 67", "w1")]);
    const { failed } = await fixed(file, settings);
    expect(failed).toMatchObject([{ pass: "align", node: { name: "first" } }]);
    expect(metadataOf(file)).toBe("fold; verified with ONNX Runtime");
  });

  it.each([
    ["half", half, "up1", "fp16"],
    ["channels-last", channelsLast, "first", undefined],
  ] as const)("are left out one by one: %s", async (_, pass, part, precision) => {
    const graph = pass === half ? blocks(2) : undefined;
    const file = writeInline(folder, graph);
    const settings = settingsFor([pass]);
    const only = {
      ...settings,
      leaveOut: (_pass: PassName, each?: string) => (each === part ? "asked" : undefined),
    };
    const whole = await fixed(writeInline(folder, graph), settings, precision);
    expect(whole.failed).toEqual([]);
    const again = await fixed(writeInline(folder, graph), only, precision);
    using model = openModel(file);
    const left = model.graph.nodes.find(({ name }) => name === part);
    expect(again.outcome.changed).toBe(true);
    expect(left?.opType).toBe(pass === half ? "MatMul" : "Conv");
    expect(again.outcome.diff.nodes.find(({ name }) => name === part)).toBeUndefined();
  });
});
