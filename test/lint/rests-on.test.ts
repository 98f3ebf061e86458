/** What layouts and authors save is told of a file in half: a command is sure to gain by storing that, or the step says what it rests on. */
import { describe, expect, it } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { namesPrecision } from "../../src/ir/fix-command.ts";
import { accountCells } from "../../src/report/account-text.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";

describe.each(["ort-cuda", "cudnn", "inductor", "tensorrt"] as const)("steps behind half, on %s", (stack) => {
  eachModel(zooNames)(
    "%s: rest on a file that a command stores, or say that",
    async (name) => {
      const { account } = await lint(zooModel(name), { stack });
      const named = account.flatMap(({ command }) => command ?? []);
      const stores = named.some((command) => namesPrecision(command) || command.includes("--unsafe-fixes"));
      const toHalf = account.find(({ step, precision }) => step === "precision" && precision === "fp16");
      for (const step of account) {
        const isLater = step.step === "layout" || step.step === "author";
        const rests = isLater && toHalf !== undefined && !stores;
        if (rests) expect(step.restsOn).toBe("fp16");
        if (!isLater || toHalf === undefined) expect(step.restsOn).toBeUndefined();
        const way = accountCells(step, account)[3];
        if (step.restsOn !== undefined) expect(way).toMatch(/, if in FP16$|; as stored \S+ \S+ → /);
      }
    },
    60_000,
  );
});

it("is said of none of another precision", async () => {
  for (const precision of ["tf32", "as-is"] as const) {
    const { account } = await lint(zooModel("swin_tiny"), { precision });
    expect(account.some(({ restsOn }) => restsOn !== undefined)).toBe(false);
  }
});
