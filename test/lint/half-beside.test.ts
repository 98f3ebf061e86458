/** Of a file that is told as stored: what half is predicted to come to with the fixes that gain in it, as `--diff` in that half says. */
import { expect, test } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { eachModel, zooModel } from "../zoo.ts";

eachModel([
  ["c3d", "inductor"],
  ["c3d", "ort-cuda"],
] as const)("%s on %s: half and padding together are told where they save", async (name, stack) => {
  const { predicted, notices } = await lint(zooModel(name), { stack });
  const written = predicted.half?.written;
  if (written === undefined) throw new Error("the file in half is predicted to save");
  expect(written.microseconds).toBeGreaterThan(0);
  // Nobody is sure to: that would be told in half.
  expect(written.low).toBeLessThanOrEqual(0);
  expect(written.after + written.microseconds).toBeCloseTo(predicted.microseconds, 6);
  expect(notices.find(({ code }) => code === "as-stored")?.message).toContain(
    "--fix --precision fp16 is predicted to take it from",
  );
  const { account } = await fix(zooModel(name), { stack, dryRun: true, precision: "fp16", half: "fp16" });
  expect(account?.at(-1)?.microseconds).toBeCloseTo(written.after, 6);
});

eachModel([
  ["misaligned_cnn", "ort-cuda"],
  ["siamese", "ort-cuda"],
] as const)("%s on %s: half is not told of where safe fixes alone leave less", async (name, stack) => {
  const { predicted, notices } = await lint(zooModel(name), { stack });
  expect(predicted.half).toBeDefined();
  expect(predicted.half?.written).toBeUndefined();
  expect(notices.find(({ code }) => code === "as-stored")?.message).not.toContain("what --fix makes in FP16");
});

test.each([
  ["c3d", "fp16"],
  ["c3d", "bf16"],
  ["c3d", "as-is"],
  ["resnet50", "fp16"],
  ["resnet50", "bf16"],
] as const)("%s at %s: what is predicted names the precision that it is of", async (name, precision) => {
  for (const stack of ["inductor", "ort-cuda", "tc-runtime"] as const) {
    const { predicted, account, target } = await lint(zooModel(name), { stack, precision });
    expect(target.precision).toBe(precision);
    expect(["as-is", precision]).toContain(predicted.precision);
    if (predicted.half !== undefined) expect(predicted.precision).toBe("as-is");
    const own = account.filter((step) => step.microseconds === predicted.microseconds);
    expect(own.map((step) => step.precision)).toContain(predicted.precision);
  }
});
