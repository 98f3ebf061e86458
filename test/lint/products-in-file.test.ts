/** How many products a file has is of the file: no stack that fuses its attention changes it, and no rule counts otherwise. */
import { expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { stackIds } from "../../src/hardware/stacks.ts";
import { eachModel, zooModel } from "../zoo.ts";

eachModel(["bert", "gpt2_dynamo", "vit_tiny", "whisper_encoder"])("%s", async (name) => {
  const told: unknown[] = [];
  for (const stack of stackIds) {
    const { findings } = await lint(zooModel(name), { stack, verbose: true });
    for (const { code, data } of findings)
      if (code === "TC201" || code === "TC405") told.push(data["products"]);
  }
  expect(told.length).toBeGreaterThan(3);
  expect(new Set(told).size).toBe(1);
});
