/** Copies that padding needs are borne by what is padded with them: a finding saves what the change of a repair does that mends it. */
import { afterAll, describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { linear } from "../../fixtures/layers.ts";
import { fix } from "../../src/api/fix.ts";
import { type LintOptions, lint } from "../../src/api/lint.ts";
import { temporaryFolder } from "../cli/models.ts";

interface Sizes {
  readonly rows: number;
  /** Between two products: it is padded without a copy. */
  readonly hidden: number;
  /** Of an input and an output of the model, of which what is padded is copied. */
  readonly ends: readonly [k: number, n: number];
}

const half = { dtype: "float16" } as const;

/** Two that share nothing: one whose padding stays within it, one whose is seen from outside. */
function towers({ rows, hidden, ends: [k, n] }: Sizes): Uint8Array {
  return model({ name: "towers" }, (graph) => {
    const x = graph.input("x", [rows, 512], "float16");
    const h = linear(graph, x, 512, hidden, { ...half, name: "inside.0" });
    graph.output(linear(graph, graph.node("Relu", [h]), hidden, 512, { ...half, name: "inside.1" }));
    graph.output(linear(graph, graph.input("y", [rows, k], "float16"), k, n, { ...half, name: "outside" }));
  });
}

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

/** Microseconds by tower, of what lint finds and of what a repair changes. */
async function byTower(file: string, options: LintOptions) {
  const { groups } = await lint(file, options);
  const { notes } = await fix(file, { ...options, dryRun: true });
  const changes = notes.filter(({ kind, pass }) => kind === "changed" && pass === "align");
  const found = groups.filter(({ code, fix }) => code === "TC102" && fix === "safe");
  return { found, changes };
}

const options: LintOptions = { precision: "fp16" };
const near = 1e-6;

describe.each<Sizes>([
  { rows: 128, hidden: 1023, ends: [768, 30522] },
  { rows: 1024, hidden: 766, ends: [512, 4097] },
  { rows: 4096, hidden: 1023, ends: [4095, 1024] },
])("two towers: %j", (sizes) => {
  const file = folder.write(`towers-${sizes.rows}.onnx`, towers(sizes));

  it.each(["ort-cuda", "inductor", "cudnn"] as const)(
    "findings save what changes do, on %s",
    async (stack) => {
      const { found, changes } = await byTower(file, { ...options, stack });
      expect(changes).toHaveLength(2);
      const outside = changes.find(({ node }) => node === "outside")?.microseconds ?? Number.NaN;
      const inside = changes.find(({ node }) => node !== "outside")?.microseconds ?? Number.NaN;
      const isOutside = ({ message }: { readonly message: string }) => message.includes(`×${sizes.ends[1]}×`);
      const savedBy = (groups: typeof found) =>
        groups.reduce((sum, { saves }) => sum + (saves?.microseconds ?? 0), 0);
      expect(Math.abs(savedBy(found.filter(isOutside)) - outside)).toBeLessThan(near);
      // Passes between the products are shorter as well, which no finding names.
      const within = savedBy(found.filter((group) => !isOutside(group)));
      expect(within).toBeLessThan(inside + near);
      expect(within).toBeGreaterThan(0.95 * inside);
    },
  );
});
