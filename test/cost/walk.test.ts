/** @file An elementwise pass: an operator of its own, or a loop that a stack compiles. */
import { expect, test } from "vitest";
import { createCostModel } from "../../src/cost/model.ts";
import { walkOf } from "../../src/cost/traffic.ts";
import { elementwise, targetOf } from "./targets.ts";

const [operators, loops] = [targetOf("h200", "cudnn"), targetOf("h200", "inductor")];

test("is a loop where the stack compiles loops, and other patterns are what they are", () => {
  expect(walkOf(elementwise(1e6), operators)).toBe("elementwise");
  expect(walkOf(elementwise(1e6), loops)).toBe("loop");
  expect(walkOf({ ...elementwise(1e6), pattern: "copy" }, loops)).toBe("copy");
});

test("takes less as a loop: of 3136×256 in FP16 ReLU was measured at 1.7 µs, a bias at 3.1", () => {
  const bytes = 2 * 3136 * 256;
  const work = { ...elementwise(1), rows: 3136, columns: 256, bytesRead: bytes, bytesWritten: bytes };
  const us = (target: typeof loops) => createCostModel().estimate(work, target).microseconds;
  expect(us(loops)).toBeGreaterThan(1.4);
  expect(us(operators)).toBeGreaterThan(us(loops));
});
