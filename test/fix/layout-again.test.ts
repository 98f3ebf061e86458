/** What `--layout nhwc` wrote is left alone, to the byte, by the same command and by `--fix`: padding that gains in NHWC is made at once. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { type FixOptions, fix } from "../../src/api/fix.ts";
import { temporaryFolder } from "../cli/models.ts";
import { weight } from "../passes/padding.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

/** Convolutions of some widths one behind the other. */
function chain(name: string, widths: readonly number[], side: number): string {
  const bytes = model({ name, opset: 17 }, (graph) => {
    let [x, channels] = [graph.input("x", [1, 3, side, side]), 3];
    for (const filters of widths) {
      const taps = weight(graph, [filters, channels, 3, 3]);
      const filtered = graph.node("Conv", [x, taps], { pads: [1, 1, 1, 1] });
      [x, channels] = [graph.node("Relu", [filtered]), filters];
    }
    graph.output(x);
  });
  return folder.write(`${name}.onnx`, bytes);
}

const files = {
  narrow: chain("narrow", [30, 30, 60, 60, 30], 112),
  wide: chain("wide", [60, 120, 60], 56),
  odd: chain("odd", [67, 129, 33], 56),
} as const;
const stacks = ["tc-runtime", "ort-cuda", "cudnn", "inductor"] as const;
const kept: readonly (readonly [string, FixOptions])[] = [
  ["as it is", {}],
  ["in half", { half: "fp16" }],
];

const cases = Object.entries(files).flatMap(([name, file]) =>
  stacks.flatMap((stack) => kept.map(([how, options]) => [name, stack, how, file, options] as const)),
);

describe("a file in NHWC", () => {
  test.each(cases)("%s on %s, %s, is left alone", async (name, stack, how, file, options) => {
    const output = path.join(path.dirname(file), `${name}-${stack}-${how.replaceAll(" ", "")}.onnx`);
    const given = { ...options, stack, verify: false } as const;
    await fix(file, { ...given, nhwc: true, output });
    const bytes = readFileSync(output);
    for (const again of [{ nhwc: true }, {}]) {
      const { changed } = await fix(output, { ...given, ...again });
      expect(changed).toBe(false);
      expect(readFileSync(output).equals(bytes)).toBe(true);
    }
  });
});
