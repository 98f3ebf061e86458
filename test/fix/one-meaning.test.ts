/** Keys of a repair's report mean the same whatever was asked for: `stored` is of files, `microseconds` of the account in `precision`. */
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { compare } from "../../src/api/compare.ts";
import { type FixOptions, fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { temporaryFolder } from "../cli/models.ts";
import { weight } from "../passes/padding.ts";
import { unsafeFixes } from "../unsafe-fixes.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const file = folder.write(
  "network.onnx",
  model({ name: "network", opset: 17 }, (graph) => {
    let [x, channels] = [graph.input("x", [8, 32, 56, 56]), 32];
    for (const filters of [67, 129, 250, 33]) {
      const filtered = graph.node("Conv", [x, weight(graph, [filters, channels, 3, 3])], {
        pads: [1, 1, 1, 1],
      });
      [x, channels] = [graph.node("Relu", [filtered]), filters];
    }
    graph.output(x);
  }),
);

const asked: readonly (readonly [string, FixOptions])[] = [
  ["--fix", {}],
  ["--unsafe-fixes", unsafeFixes],
  ["--precision fp16", { half: "fp16" }],
  ["--layout nhwc", { nhwc: true }],
  ["both", { half: "fp16", nhwc: true }],
  ["--fix, in the types of the file", { precision: "as-is" }],
];
const stacks = ["ort-cuda", "cudnn", "inductor"] as const;

describe("the report of a repair", () => {
  test.each(asked.flatMap(([name, options]) => stacks.map((stack) => [name, stack, options] as const)))(
    "%s on %s",
    async (name, stack, options) => {
      const output = path.join(path.dirname(file), `${name.replaceAll(/\W/g, "")}-${stack}.onnx`);
      const { stored, microseconds, precision, account, changed } = await fix(file, {
        ...options,
        stack,
        output,
        verify: false,
      });
      const timeOf = async (of: string) =>
        (await lint(of, { stack, precision: "as-is" })).predicted.microseconds;
      expect(stored?.before).toBeCloseTo(await timeOf(file), 9);
      expect(stored?.after).toBeCloseTo(await timeOf(changed ? output : file), 9);
      expect(account?.at(-1)?.microseconds).toBe(microseconds?.after);
      if (precision === "as-is") expect(microseconds).toEqual(stored);
      else expect(account?.find(({ step }) => step === "precision")?.precision).toBe(precision);
      if (!changed) return;
      // The line of `compare` is of the same two files.
      const { stored: between, time } = await compare(file, output, { stack });
      const difference = between?.time ?? time;
      expect(difference?.microseconds).toBeCloseTo((stored?.after ?? 0) - (stored?.before ?? 0), 6);
    },
  );
});
