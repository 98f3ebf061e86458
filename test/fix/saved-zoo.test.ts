/** What each change of a repair saves adds up to what the repair saves, whatever types it was foreseen in. */
import { expect } from "vitest";
import { type FixOptions, fix } from "../../src/api/fix.ts";
import { InputError } from "../../src/ir/errors.ts";
import { duration } from "../../src/ir/format.ts";
import { rounding } from "../lint/sums.ts";
import { unsafeFixes } from "../unsafe-fixes.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";

async function expectSum(name: string, options: FixOptions): Promise<void> {
  const { microseconds, notes, account } = await fix(zooModel(name), { ...options, dryRun: true });
  const changes = notes.filter(({ kind }) => kind === "changed");
  const sum = changes.reduce((total, each) => total + (each.microseconds ?? 0), 0);
  const { before, after } = microseconds ?? { before: Number.NaN, after: Number.NaN };
  expect(account?.at(-1)?.microseconds).toBe(after);
  expect(Math.abs(before - after - sum)).toBeLessThan(rounding);
  // Why the whole model stays FP32 has one reason: what saves too little saves something, and what Casts take up saves nothing.
  const whole = notes.filter(
    ({ kind, node, message }) => kind === "blocked" && node === null && wholeModel.test(message),
  );
  expect(whole.length).toBeLessThan(2);
}

const wholeModel = /^left FP32: (half precision( with NHWC behind it)? is|Casts to FP16 and back)/;

/** Half precision computes some weights anew before others are folded: without them such models are refused. */
async function expectUnsafeSum(name: string, options: FixOptions): Promise<void> {
  try {
    await expectSum(name, options);
  } catch (error) {
    if (!(error instanceof InputError) || error.code !== "weights-missing") throw error;
    console.warn(`skipped: ${error.message}`);
  }
}

eachModel(zooNames)("%s: safe fixes", (name) => expectSum(name, {}));

eachModel(zooNames)(
  "%s: half precision and channels last, too",
  (name) => expectUnsafeSum(name, unsafeFixes),
  60_000,
);

const odd = ["crnn", "gpt2_dynamo", "misaligned_cnn", "seg_unet", "shufflenet_v2"];
eachModel(odd)(
  "%s: half precision as it was asked for, in the types that are stored",
  (name) => expectSum(name, { ...unsafeFixes, halfOnlyWhereFaster: false, precision: "as-is" }),
  60_000,
);

eachModel(["efficientnet_b0", "mnasnet", "mobilenet_v2", "yolo_w0375"])(
  "%s: half precision that is left saves what the file saves that is written by name, in the layout that is named",
  async (name) => {
    const { notes } = await fix(zooModel(name), { ...unsafeFixes, dryRun: true });
    const left = notes.find(({ message }) => wholeModel.test(message))?.message ?? "";
    const { notes: named, account } = await fix(zooModel(name), {
      ...unsafeFixes,
      halfOnlyWhereFaster: false,
      dryRun: true,
    });
    const written = account?.find(({ step }) => step === "kept")?.written;
    const isTurned = named.some(({ kind, pass }) => kind === "changed" && pass === "channels-last");
    expect(left).toContain(`predicted to save ${duration(written?.microseconds ?? 0)} (`);
    expect(left.includes("with NHWC")).toBe(isTurned);
  },
);
