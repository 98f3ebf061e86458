/** `--layout nhwc` of a file that keeps its types is told in these, from the headline to `compare`, and says where it is slower. */
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { compare } from "../../src/api/compare.ts";
import { type FixOptions, fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import { accountCells } from "../../src/report/account-text.ts";
import { temporaryFolder } from "../cli/models.ts";
import { rounding } from "../lint/sums.ts";
import { weight } from "../passes/padding.ts";
import { eachModel, zooModel } from "../zoo.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const named = { nhwc: true } as const satisfies FixOptions;
const said = /^NHWC was asked for, and is predicted to be slower: (may cost|costs) .* as stored/;

/** Faster in NHWC in half, and slower in FP32 where a stack leaves TF32 off. */
const stack = "cudnn";
const convolutions = folder.write(
  "convolutions.onnx",
  model({ name: "convolutions", opset: 17 }, (graph) => {
    let x = graph.input("x", [1, 64, 112, 112]);
    for (let layer = 0; layer < 3; layer++)
      x = graph.node("Conv", [x, weight(graph, [64, 64, 3, 3])], { pads: [1, 1, 1, 1] });
    graph.output(x);
  }),
);

describe("a file that stays FP32", () => {
  it("is slower, with a note, and `compare` says the same of the two files", async () => {
    const output = path.join(path.dirname(convolutions), "nhwc.onnx");
    const { account, microseconds, notes, stored } = await fix(convolutions, {
      ...named,
      stack,
      output,
      verify: false,
    });
    const step = account?.at(-1);
    expect(step?.saves?.high).toBeLessThan(0);
    expect(microseconds?.after).toBe(step?.microseconds);
    expect(stored).toEqual(microseconds);
    const note = notes.find(({ message }) => said.test(message));
    expect(note?.microseconds).toBeCloseTo(step?.saves?.microseconds ?? Number.NaN, 9);
    const { after = 0 } = microseconds ?? {};
    const between = await compare(convolutions, output, { stack });
    expect(between.time?.verdict).toBe("faster");
    expect(between.verdict).toBe("slower");
    expect(between.stored?.head).toBeCloseTo(after, 9);
    expect(between.stored?.time.microseconds).toBeCloseTo(-(step?.saves?.microseconds ?? 0), 9);
    expect(between.stored?.time.low).toBeCloseTo(-(step?.saves?.high ?? 0), 9);
    expect(between.stored?.time.high).toBeCloseTo(-(step?.saves?.low ?? 0), 9);
  });

  it("is told what half would save by it: the step of the file that half makes", async () => {
    const plain = await fix(convolutions, { ...named, stack, dryRun: true });
    const { message = "" } = plain.notes.find((note) => said.test(note.message)) ?? {};
    const half = await fix(convolutions, { ...named, stack, half: "fp16", dryRun: true });
    const saves = half.account?.find(({ step }) => step === "layout")?.saves;
    expect(saves?.low).toBeGreaterThan(0);
    const figure = /with --precision fp16 it saves ([\d.]+) µs/.exec(message)?.[1];
    expect(Number(figure)).toBeCloseTo(saves?.microseconds ?? Number.NaN, 0);
  });
});

const models = ["espcn", "seg_unet", "siamese", "misaligned_cnn", "squeezenet", "googlenet", "mobilenet_v2"];
const onStacks = models.flatMap((name) => [[name, "ort-cuda"] as const, [name, "cudnn"] as const]);

describe("the zoo", () => {
  eachModel<StackId>([...onStacks, ["bert", "ort-cuda"], ["crnn", "inductor"]])(
    "%s on %s: headline, steps and changes are of the types that are stored",
    async (name, on) => {
      const { account, microseconds, stored, notes } = await fix(zooModel(name), {
        ...named,
        stack: on,
        dryRun: true,
      });
      const steps = account ?? [];
      expect(steps.filter(({ precision }) => precision !== "as-is")).toEqual([]);
      expect(stored).toEqual(microseconds);
      const ways = steps.slice(1).map((step) => accountCells(step, steps)[3]);
      expect(ways.filter((way) => !/^--fix --layout nhwc(, as stored)?$/.test(way))).toEqual([]);
      const report = await lint(zooModel(name), { stack: on });
      const exported = report.account.find(({ step }) => step === "exported");
      const { before, after } = microseconds ?? { before: Number.NaN, after: Number.NaN };
      expect(before).toBeCloseTo(exported?.microseconds ?? Number.NaN, 9);
      expect(after).toBe(steps.at(-1)?.microseconds);
      const sum = notes.reduce(
        (total, { kind, microseconds: saved }) => total + (kind === "changed" ? (saved ?? 0) : 0),
        0,
      );
      expect(Math.abs(before - after - sum)).toBeLessThan(rounding);
      const saved = steps.find(({ step }) => step === "layout")?.saves?.microseconds ?? 0;
      expect(notes.some(({ message }) => said.test(message))).toBe(saved < 0);
    },
  );

  // Padding is decided before the layout, and nothing pads behind it.
  eachModel(["seg_unet", "seg_unet_dynamo"])("%s is padded where that pays in NHWC alone", async (name) => {
    const plain = await fix(zooModel(name), { dryRun: true });
    const turned = await fix(zooModel(name), { ...named, nhwcForm: "ort-cuda", dryRun: true });
    const isPadded = ({ notes }: typeof plain) =>
      notes.some(({ kind, pass }) => kind === "changed" && pass === "align");
    expect([plain, turned].map(isPadded)).toEqual([false, true]);
  });
});
