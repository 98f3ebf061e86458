/** Padding that is declined says how many products it would pad: none that has an axis with them and would stay as it is. */
import { expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { eachModel, zooModel } from "../zoo.ts";

// Of the products that meet in deeplabv3, 61, one is off the multiple; efficientnet_b0's are 82.
eachModel([
  ["deeplabv3", 1],
  ["efficientnet_b0", 16],
] as const)("%s: %i", async (name, most) => {
  const { unlisted } = await lint(zooModel(name), { verbose: true });
  const left = unlisted?.groups.flatMap((group) => group.left ?? []) ?? [];
  const told = left.filter((text) => /padding.* with what it costs around (?:it|them)/.test(text));
  expect(told.length).toBeGreaterThan(0);
  for (const text of told) {
    const count = /padding (\d+) products together/.exec(text)?.[1];
    expect(Number(count ?? 1)).toBeLessThanOrEqual(most);
  }
});
