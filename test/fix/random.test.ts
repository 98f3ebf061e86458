/**
 * Drawn networks through the whole of a fix: proven, put in place, and looked at again. `npm run fuzz:all` draws
 * thousands, in every mode; this is the part that every change is held to.
 */
import { expect, it } from "vitest";
import { drawNetwork, type Mode, modes, tryNetwork } from "./drawn.ts";

const { TC_LINT_FUZZ_RUNS: runsGiven = "50", TC_LINT_FUZZ_SEED: seedGiven = "20261122" } = process.env;
/** A fix takes a hundred times what padding alone does. */
const runs = Math.ceil(Number(runsGiven) / 10);
const first = seedGiven === "random" ? Math.floor(Math.random() * 1e9) : Number(seedGiven);

it.each(Object.keys(modes) as Mode[])(
  "what is proven of drawn networks stands up to another look: %s",
  { timeout: 3_600_000 },
  async (mode) => {
    let changed = 0;
    for (let seed = first; seed < first + runs; seed++) {
      const { verdict, detail } = await tryNetwork(drawNetwork(seed, mode), mode);
      expect(`${mode} ${seed}: ${verdict} ${detail}`).not.toMatch(/: wrong/);
      if (verdict === "fixed" || verdict === "bisected") changed += 1;
    }
    expect(changed).toBeGreaterThan(0);
  },
);
