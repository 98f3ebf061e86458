/** Padding that is made where NHWC is asked for by name is sure where it is told: in NCHW before that step, or in NHWC behind it. */
import { expect } from "vitest";
import { type FixOptions, fix } from "../../src/api/fix.ts";
import { eachModel, zooModel } from "../zoo.ts";

const cases = ["misaligned_cnn", "misaligned_cnn_dynamo"].flatMap((name) =>
  [1, 4, 8].flatMap((batch) =>
    [{}, { half: "fp16" } as const].map((types): readonly [string, FixOptions] => [
      name,
      { stack: "tc-runtime", nhwc: true, dims: { batch }, ...types },
    ]),
  ),
);

eachModel(cases)("%s: %o", async (name, options) => {
  const { account, notes } = await fix(zooModel(name), { ...options, dryRun: true });
  const padded = notes.filter(({ kind, pass }) => kind === "changed" && pass === "align");
  const step = account?.find((each) => each.step === "safe");
  if (padded.length === 0) return;
  expect(step?.saves?.low).toBeGreaterThan(0);
  const saved = notes.flatMap(({ kind, microseconds }) => (kind === "changed" ? (microseconds ?? 0) : []));
  const [first, last] = [account?.[0]?.microseconds ?? 0, account?.at(-1)?.microseconds ?? 0];
  expect(saved.reduce((sum, each) => sum + each, 0)).toBeCloseTo(first - last, 6);
});
