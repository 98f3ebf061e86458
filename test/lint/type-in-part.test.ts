/** What a stack has kernels of for some operators alone is not told as if it ran. */
import { expect, test } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { type StackId, stackIds } from "../../src/hardware/stacks.ts";
import type { Precision } from "../../src/hardware/target.ts";
import { zooModel } from "../zoo.ts";

const codesOf = async (stack: StackId, precision: Precision) =>
  (await lint(zooModel("misaligned_mlp"), { stack, precision })).notices.map(({ code }) => code);

test.each(stackIds)("BF16 on %s", async (stack) => {
  expect((await codesOf(stack, "bf16")).includes("type-in-part")).toBe(stack.startsWith("ort-cuda"));
  expect(await codesOf(stack, "fp16")).not.toContain("type-in-part");
});
