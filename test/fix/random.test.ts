/**
 * Drawn networks through the whole of a fix: proven, put in place, and looked at again. `npm run fuzz:all` draws
 * thousands, in every mode; this is the part that every change is held to.
 */
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Bundle, bundle } from "../bundle.ts";
import { drawNetwork, type Mode, modes, tryNetwork } from "./drawn.ts";

const { TC_LINT_FUZZ_RUNS: runsGiven = "50", TC_LINT_FUZZ_SEED: seedGiven = "20261122" } = process.env;
/** A fix takes a hundred times what padding alone does. */
const runs = Math.ceil(Number(runsGiven) / 10);
const first = seedGiven === "random" ? Math.floor(Math.random() * 1e9) : Number(seedGiven);

let child: Bundle;

beforeAll(async () => {
  child = await bundle("src/verify/child.ts");
});
afterAll(() => child[Symbol.dispose]());

it("does not write what ONNX Runtime crashes on: FP16 recurrent layers of looked up values", {
  timeout: 600_000,
}, async () => {
  // The result is loaded in this process.
  const { verdict } = await tryNetwork(drawNetwork(100_070, "fp16"), "fp16", pathToFileURL(child.path));
  expect(verdict).toMatch(/fixed|bisected/);
});

it.each(Object.keys(modes) as Mode[])(
  "what is proven of drawn networks stands up to another look: %s",
  { timeout: 3_600_000 },
  async (mode) => {
    let changed = 0;
    for (let seed = first; seed < first + runs; seed++) {
      const childUrl = modes[mode].half === "fp16" ? pathToFileURL(child.path) : undefined;
      const { verdict, detail } = await tryNetwork(drawNetwork(seed, mode), mode, childUrl);
      expect(`${mode} ${seed}: ${verdict} ${detail}`).not.toMatch(/: wrong/);
      if (verdict === "fixed" || verdict === "bisected") changed += 1;
    }
    expect(changed).toBeGreaterThan(0);
  },
);
