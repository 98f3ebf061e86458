/** @file Who decides what layout convolutions run in. */
import { expect, test } from "vitest";
import { choosesLayout, layoutSettingOf, type StackId, stackIds, stacks } from "../../src/hardware/stacks.ts";

const chosen: Partial<Record<StackId, readonly number[]>> = {
  "ort-cuda-nhwc": [1, 2, 3],
  tensorrt: [1, 2, 3],
  inductor: [2],
  "tc-runtime": [1, 2, 3],
};

test.each(stackIds)("on %s the layout of convolutions is chosen by one alone", (id) => {
  const stack = stacks[id];
  const axes = [1, 2, 3].filter((count) => choosesLayout(stack, count));
  expect(axes).toEqual(chosen[id] ?? []);
  expect(choosesLayout(stack)).toBe(axes.length > 0);
  const isByFile = stack.layout === "file";
  expect([isByFile, choosesLayout(stack), layoutSettingOf(stack) !== undefined].filter(Boolean)).toEqual([
    true,
  ]);
});
