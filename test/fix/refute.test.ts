/** The eye that looks at fixes again sees what is wrong, and lets pass what rounding to half may do. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { drawNetwork } from "./drawn.ts";
import { noisyBytes } from "./half-noise.ts";
import { refute } from "./refute.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tc-lint-refute-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Images, and sequences with an ArgMax that looks up a table. */
const seeds = [100_005, 100_148];

async function look(seed: number, error: number) {
  const { bytes, rows } = drawNetwork(seed, "fp16");
  const [original, candidate] = [join(folder, `${seed}.onnx`), join(folder, `${seed}-noisy.onnx`)];
  writeFileSync(original, bytes);
  writeFileSync(candidate, noisyBytes(original, error, 77));
  return await refute({ original, candidate, rows, precision: "fp16" });
}

it.each(seeds)("lets pass what rounding to half may do: %i", { timeout: 120_000 }, async (seed) => {
  expect(await look(seed, 2 ** -11)).toBeUndefined();
});

it.each(seeds)("sees values that are a third off: %i", { timeout: 120_000 }, async (seed) => {
  expect(await look(seed, 0.33)).toMatchObject({ text: expect.stringMatching(/expected/), isBeyond: false });
});
