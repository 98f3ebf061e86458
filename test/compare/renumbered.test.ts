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
