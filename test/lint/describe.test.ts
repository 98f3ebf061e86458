/** What messages count is in the singular where it is one. */
import { expect, test } from "vitest";
import { rules } from "../../rules/index.ts";
import { fill } from "../../src/lint/describe.ts";

test.each([
  ["{kernels} kernels, as a graph runs them", { kernels: 1 }, "1 kernel, as a graph runs them"],
  ["{kernels} kernels, not one", { kernels: 3 }, "3 kernels, not one"],
  ["{count} of {products} products are off", { count: 1, products: 3 }, "1 of 3 products is off"],
  ["{count} of {products} products are off", { count: 1, products: 1 }, "1 of 1 product is off"],
  ["{count} of {products} products are off", { count: 2, products: 3 }, "2 of 3 products are off"],
  ["{channels} → {filters} channels", { channels: 3, filters: 1 }, "3 → 1 channel"],
  ["constant 3 (at Add, {count} times) rounds", { count: 1 }, "constant 3 (at Add, 1 time) rounds"],
  ["{width} exceeds {stack} has", { width: 1, stack: "cudnn" }, "1 exceeds cudnn has"],
] as const)("%s", (template, data, text) => {
  expect(fill(template, data)).toBe(text);
});

/** Words in s behind something that is no count. */
const notCounted = /\b1 (is|has|does|multiplies|codes|patches)\b/g;

test("no rule counts one of several", () => {
  const ones = new Proxy({}, { get: () => 1 }) as Readonly<Record<string, number>>;
  for (const { code, messages } of rules)
    for (const text of Object.values(messages))
      expect(fill(text, ones).replaceAll(notCounted, ""), code).not.toMatch(/\b1 \w+s\b/);
});
