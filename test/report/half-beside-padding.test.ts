/** What half takes beside padding is of the model before it, as the account's rows are, and says so. */
import { expect } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { useWorkbench } from "../cli/workbench.ts";
import { eachModel, zooModel } from "../zoo.ts";

const bench = useWorkbench();
const rows = [
  ["c3d", "ort-cuda"],
  ["misaligned_cnn", "inductor"],
  ["misaligned_mlp", "cudnn"],
  ["misaligned_mlp", "ort-cuda"],
  ["vgg11", "ort-cuda"],
] as const;

eachModel(rows)("%s on %s", async (name, stack) => {
  const { account, notes } = await fix(zooModel(name), { stack, half: "fp16", dryRun: true });
  const saved = (step: string) => account?.find((each) => each.step === step)?.saves?.microseconds ?? 0;
  const half = notes.filter(({ pass, kind }) => pass === "half" && kind === "changed");
  const own = half.reduce((sum, { microseconds = 0 }) => sum + (microseconds ?? 0), 0);
  expect(own).toBeCloseTo(saved("precision") + saved("kept"), 6);
  const isPadded = account?.some(({ step }) => step === "safe");
  const flags = ["--stack", stack, "--precision", "fp16", "--diff", "--fix-only"];
  const { stdout: text } = await bench.tcLint([zooModel(name), ...flags]);
  const line = text.split("\n").filter((each) => /^ {2}half .*(?:saves?|more)/.test(each));
  expect(line.length).toBeGreaterThan(0);
  for (const each of line) expect(each.endsWith(" (before safe fixes, with its Casts)")).toBe(isPadded);
});

eachModel(["misaligned_cnn", "tcn"])("%s: what sums differ by is told as no time", async (name) => {
  const flags = ["--precision", "bf16", "--diff", "--fix-only"];
  const { stdout: text } = await bench.tcLint([zooModel(name), ...flags]);
  expect(text).toMatch(/^ {2}half /m);
  expect(text).not.toMatch(/\b0\.000\d* µs/);
});
