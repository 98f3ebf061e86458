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

eachModel(["sd_unet_dynamo"])("%s has such a finding, without a command", async (name) => {
  const { groups } = await inInt8(name);
  expect(groups.map(({ code, fixCommand }) => [code, fixCommand])).toContainEqual(["TC302", null]);
});
