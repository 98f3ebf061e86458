/**
 * What declined padding would save, in a report that is told of the file as it is stored: the decision is of half, the figures are of what
 * the account is of.
 */
import { afterAll, describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { type FixOptions, fix } from "../../src/api/fix.ts";
import { type LintOptions, lint } from "../../src/api/lint.ts";
import { temporaryFolder } from "../cli/models.ts";

/** Channels off the multiple, which padding may not gain by in half; no half at this opset, for LpPool keeps its own. */
function convolutions(channels: readonly number[], batch: number, size: number): Uint8Array {
  return model({ name: "convolutions", opset: 17 }, (graph) => {
    const [first = 1, ...others] = channels;
    let h = graph.input("x", [batch, first, size, size]);
    let before = first;
    for (const filters of others) {
      h = graph.node("Relu", [graph.node("Conv", [h, graph.weight([filters, before, 3, 3])])]);
      before = filters;
    }
    graph.output(graph.node("LpPool", [h], { kernel_shape: [2, 2] }));
  });
}

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const files = {
  narrow: folder.write("narrow.onnx", convolutions([67, 129, 131, 132], 2, 28)),
  wide: folder.write("wide.onnx", convolutions([67, 193, 195, 196], 2, 24)),
  small: folder.write("small.onnx", convolutions([31, 30, 29, 31], 8, 28)),
};

const told =
  /^in FP16 the repaired model(?: \(\d+ layers change together\))? may be no faster: predicted .*; as stored ([\d.]+) µs → ([\d.]+) µs$/;
const sumOf = (times: readonly (number | null | undefined)[]) =>
  times.reduce<number>((sum, time) => sum + (time ?? 0), 0);
/** Of figures that have three digits. */
const digits = 0.11;

/** Before and after, as a reason has them. */
function figuresIn(message: string | null | undefined): readonly [before: number, after: number] {
  const [, before, after] = told.exec(message ?? "") ?? [];
  expect(message).toMatch(told);
  return [Number(before), Number(after)];
}

async function lintedPadding(file: string, options: LintOptions) {
  const { predicted, unlisted, notices } = await lint(file, { ...options, verbose: true });
  expect(notices.map(({ code }) => code)).toContain("as-stored");
  const { groups = [] } = unlisted ?? {};
  return { padding: groups.filter(({ code }) => code === "TC101"), predicted };
}

describe.each([
  ["narrow", "ort-cuda"],
  ["wide", "ort-cuda"],
  ["small", "ort-cuda"],
  ["small", "ort-cuda-nhwc"],
  ["small", "inductor"],
  ["small", "cudnn"],
] as const)("declined padding of a file that is told as it is stored: %s on %s", (name, stack) => {
  const options: LintOptions = { gpu: "h100", stack };
  const file = files[name];

  it("saves in all what the whole saves of the file as stored, in lint", async () => {
    const { padding, predicted } = await lintedPadding(file, options);
    const [before, after] = figuresIn(padding[0]?.left);
    expect(Math.abs(before - predicted.microseconds)).toBeLessThan(digits);
    const sum = sumOf(padding.map(({ saves }) => saves?.microseconds));
    expect(sum).toBeLessThan(before - after + 2 * digits);
  });

  it.each<readonly [string, Partial<FixOptions>]>([
    ["--diff", {}],
    [
      "--diff --unsafe-fixes",
      { half: "fp16", halfOnlyWhereFaster: true, nhwc: true, nhwcOnlyWhereFaster: true },
    ],
  ])("saves the same in %s, for the same reason", async (_, asked) => {
    const { account, notes } = await fix(file, { ...options, dryRun: true, ...asked });
    const { padding } = await lintedPadding(file, options);
    const left = notes.filter(({ rule }) => rule === "TC101");
    const [before] = figuresIn(left[0]?.message);
    expect(account?.[0]?.precision).toBe("as-is");
    expect(Math.abs(before - (account?.[0]?.microseconds ?? 0))).toBeLessThan(digits);
    expect(left[0]?.message).toBe(padding[0]?.left);
    const linted = sumOf(padding.map(({ saves }) => saves?.microseconds));
    expect(Math.abs(sumOf(left.map(({ microseconds }) => microseconds)) - linted)).toBeLessThan(digits);
  });
});
