/** @file What is left behind safe fixes is told with the sizes of the file: those that padding makes are in no file that the reader has. */
import { expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { eachModel, zooModel } from "../zoo.ts";

/** Before and behind padding, where a report has the same rule at the same node. */
eachModel([
  [
    "sd_unet",
    { stack: "cudnn", precision: "int8", sizes: /heads of (40|80)\b|of (640|960|1280|1920) outputs/ },
  ],
] as const)("%s", async (name, { stack, precision, sizes }) => {
  const { account, groups } = await lint(zooModel(name), { stack, precision });
  expect(account.some(({ step }) => step === "safe")).toBe(true);
  const told = groups.filter(({ code }) => code === "TC401" || code === "TC402");
  expect(told.length).toBeGreaterThan(2);
  for (const { message } of told) expect(message).toMatch(sizes);
});
