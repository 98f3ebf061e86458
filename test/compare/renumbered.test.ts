/** Exporters number nodes, or leave them to the numbers of their values: one layer more gives every later one another's name. */
import { describe, expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { compare } from "../../src/index.ts";

interface Numbering {
  /** What the nth convolution is called. */
  readonly name: (index: number) => string;
}

const numberings: Readonly<Record<string, Numbering>> = {
  "numbered nodes": { name: (index) => `node_Conv_${index}` },
  "nodes without names": { name: () => "" },
};

/** Convolutions one behind another, of these widths. */
function chain(widths: readonly number[], { name }: Numbering): Uint8Array {
  return model({ name: "chain" }, (graph) => {
    let x = graph.input("image", [8, 64, 56, 56], "float16");
    let channels = 64;
    for (const [index, filters] of widths.entries()) {
      const weight = graph.weight([filters, channels, 3, 3], { dtype: "float16" });
      x = graph.node("Conv", [x, weight], { pads: [1, 1, 1, 1] }, { name: name(index) });
      channels = filters;
    }
    graph.output(x, "float16");
  });
}

const base = [128, 67, 128, 70, 72, 70, 128, 67, 128];
const options = { gpu: "h200", stack: "ort-cuda" } as const;

describe.each(Object.entries(numberings))("%s", (_, numbering) => {
  const compared = (from: readonly number[], to: readonly number[], more = {}) =>
    compare(chain(from, numbering), chain(to, numbering), { ...options, ...more });

  test("a good layer in front brings no finding, and its own time alone", async () => {
    const budgets = [{ gpu: "h200", stack: "ort-cuda", maxRegression: "50 %" }] as const;
    const found = await compared(base, [64, ...base], { budgets });
    expect(found.findings).toMatchObject({ new: [], worse: [], fixed: [] });
    expect(found.findings.renamed.length).toBeGreaterThan(2);
    expect(found.kernels).toHaveLength(1);
    expect(found.kernels[0]).toMatchObject({ base: null });
    expect(found.verdict).toBe("slower");
    expect(found.budgets).toMatchObject([{ predicted: found.time?.share, high: found.time?.shareHigh }]);
  });

  test("a good layer in front is one node more in the graph, read by the one behind it", async () => {
    const { graph } = await compared(base, [64, ...base]);
    expect(graph?.nodes.map(({ kind, op }) => [kind, op])).toEqual([
      ["added", "Conv"],
      ["changed", "Conv"],
    ]);
    expect(graph?.nodes[1]?.details).toEqual([expect.stringMatching(/^input 0 "image" → "[^"]+"$/)]);
    expect(graph?.tensors).toEqual([{ name: expect.any(String), before: null, after: "float16[64,64,3,3]" }]);
    const back = await compared([64, ...base], base);
    expect(back.graph?.nodes.map(({ kind }) => kind)).toEqual(["removed", "changed"]);
    expect(back.graph?.nodes[1]?.details).toEqual([expect.stringMatching(/^input 0 "[^"]+" → "image"$/)]);
    expect(back.graph?.tensors).toEqual([
      { name: expect.any(String), before: "float16[64,64,3,3]", after: null },
    ]);
  });

  test("a layer in the middle touches none of those that stand as they stood", async () => {
    const { graph } = await compared(base, [...base.slice(0, 5), 72, ...base.slice(5)]);
    expect(graph?.nodes.map(({ kind }) => kind)).toEqual(["added", "changed"]);
    expect(graph?.tensors.map(({ before, after }) => [before, after])).toEqual([
      [null, "float16[72,72,3,3]"],
    ]);
  });

  test("taken out again it takes its own time with it", async () => {
    const found = await compared([64, ...base], base);
    expect(found.findings).toMatchObject({ new: [], worse: [], fixed: [] });
    expect(found.kernels).toHaveLength(1);
    expect([found.kernels[0]?.head, found.verdict]).toEqual([null, "faster"]);
  });

  test("a bad layer in the middle is what is new, under the name that another had", async () => {
    const { findings, kernels } = await compared(base, [...base.slice(0, 3), 83, ...base.slice(3)]);
    expect(findings.new.map(({ code }) => code)).toContain("TC101");
    expect(findings.new.every(({ message }) => message.includes("83"))).toBe(true);
    expect(findings.fixed.every(({ message }) => message.includes("128 → 70"))).toBe(true);
    expect(kernels.length).toBeLessThan(4);
  });

  test("two layers that take each other's widths changed: one that is fixed is no excuse for one that is new", async () => {
    const { findings } = await compared([128, 67, 128, 128, 128, 128], [128, 128, 128, 67, 128, 128]);
    expect(findings.new.map(({ code }) => code)).toContain("TC101");
    expect(findings.fixed.map(({ code }) => code)).toContain("TC101");
  });
});

test("a region that begins a layer earlier is the region that it was", async () => {
  const named = (first: number) => ({ name: (index: number) => `/net/layers.${index + first}/Conv` });
  const aligned = Array<number>(8).fill(128);
  const { findings } = await compare(chain(aligned, named(1)), chain([64, ...aligned], named(0)), options);
  expect(findings).toMatchObject({ new: [], worse: [], fixed: [] });
  expect(findings.renamed.map(({ code }) => code)).toEqual(["TC301"]);
});

describe("Nodes that keep their names while their values are numbered anew", () => {
  /** As exporters of modules name nodes, and leave weights and values to a counter; `read` says which weight each layer has. */
  const layers = (names: readonly string[], read = names.map((_, index) => index)) =>
    model({ name: "layers" }, (graph) => {
      let x = graph.input("image", [8, 64, 56, 56], "float16");
      const first = 490;
      const weights = names.map((_, index) =>
        graph.weight([64, 64, 3, 3], { dtype: "float16", name: `onnx::Conv_${first + 3 * index}` }),
      );
      for (const [index, name] of names.entries()) {
        const inputs = [x, weights[read[index] ?? 0] ?? ""];
        const outputs = [String(first + 3 * index + 1)];
        [x = ""] = graph.nodes("Conv", inputs, { pads: [1, 1, 1, 1] }, { name: `/${name}/Conv`, outputs });
      }
      graph.output(x, "float16");
    });

  test("are as they were, but for the one behind what is new", async () => {
    const { graph } = await compare(layers(["a", "b", "c"]), layers(["a", "new", "b", "c"]), options);
    expect(graph?.nodes).toEqual([
      { name: "/new/Conv", op: "Conv", kind: "added", details: [] },
      { name: "/b/Conv", op: "Conv", kind: "changed", details: ['input 0 "491" → "494"'] },
    ]);
    expect(graph?.tensors).toEqual([{ name: "onnx::Conv_493", before: null, after: "float16[64,64,3,3]" }]);
  });

  test("have changed where two read each other's weights", async () => {
    const { graph } = await compare(layers(["a", "b", "c"]), layers(["a", "b", "c"], [1, 0, 2]), options);
    expect(graph?.nodes.map(({ name, details }) => [name, details])).toEqual([
      ["/a/Conv", ['input 1 "onnx::Conv_490" → "onnx::Conv_493"']],
      ["/b/Conv", ['input 1 "onnx::Conv_493" → "onnx::Conv_490"']],
    ]);
  });
});
