/** @file A command that a finding about the layout names makes the account's layout step: where there is none, no command is named. */
import { expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";

const inInt8 = (name: string) => lint(zooModel(name), { stack: "cudnn", precision: "int8" });

eachModel(zooNames)("%s in INT8 on cudnn: layouts have a command with their step alone", async (name) => {
  const { account, groups } = await inInt8(name);
  const named = groups.filter(({ step, fixCommand }) => step === "layout" && fixCommand !== null);
  if (!account.some(({ step }) => step === "layout")) expect(named).toEqual([]);
});

eachModel(["sd_unet_dynamo"])(
  "%s has a finding of one that no command takes, and does not claim it",
  async (name) => {
    const { groups, unlisted } = await lint(zooModel(name), {
      stack: "cudnn",
      precision: "int8",
      verbose: true,
    });
    expect(groups.map(({ code }) => code)).not.toContain("TC302");
    const left = unlisted?.groups.find(({ code }) => code === "TC302");
    expect(left?.fixCommand).toBeNull();
    expect(left?.saves?.low).toBeLessThanOrEqual(0);
  },
);
