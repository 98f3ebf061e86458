/** Half by name, half that --unsafe-fixes decides on and half that lint looks at are one file where NHWC comes behind them. */
import { expect } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { unsafeFixes } from "../unsafe-fixes.ts";
import { eachModel, zooModel } from "../zoo.ts";

// Its first convolution gains nothing in half in NCHW.
eachModel(["deeplabv3"])(
  "%s on cudnn ends at one time, by lint, by --unsafe-fixes and by name",
  async (name) => {
    const { account } = await lint(zooModel(name), { stack: "cudnn" });
    const asked = { stack: "cudnn", dryRun: true, ...unsafeFixes } as const;
    const decided = await fix(zooModel(name), asked);
    const named = await fix(zooModel(name), { ...asked, halfOnlyWhereFaster: false });
    const kept = account.find(({ step }) => step === "kept")?.microseconds;
    expect(kept).toBeGreaterThan(0);
    expect(decided.account?.at(-1)?.microseconds).toBe(kept);
    expect(named.account?.at(-1)?.microseconds).toBe(kept);
  },
  60_000,
);

eachModel(["yolo"])(
  "%s on tc-runtime: changes that cancel each other save 0",
  async (name) => {
    const { account } = await lint(zooModel(name), { stack: "tc-runtime" });
    for (const { saves } of account)
      if (saves !== null && Math.abs(saves.microseconds) < 1e-9) expect(saves.microseconds).toBe(0);
  },
  60_000,
);
