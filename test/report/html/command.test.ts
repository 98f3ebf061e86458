/** @file The command that a page offers to copy does what its entry says, and no more. */
import { expect, test } from "vitest";
import { commandLine } from "../../../src/report/html/command.ts";
import { modelReport } from "../sample.ts";

const target = { gpu: "h200", stack: "ort-cuda" } as const;

test.each([
  ["fp16", "--fix", "tc-lint --fix --gpu h200 --stack ort-cuda --dim seq=128 models/gpt.onnx"],
  [
    "fp16",
    "--fix --unsafe-fixes",
    "tc-lint --fix --unsafe-fixes --gpu h200 --stack ort-cuda --dim seq=128 models/gpt.onnx",
  ],
  [
    "as-is",
    "--fix",
    "tc-lint --fix --gpu h200 --stack ort-cuda --precision as-is --dim seq=128 models/gpt.onnx",
  ],
  ["bf16", "--fix", "tc-lint --fix --gpu h200 --stack ort-cuda --dim seq=128 models/gpt.onnx"],
] as const)("priced in %s, %s stores no half that nobody asked for", (precision, fixCommand, command) => {
  const model = modelReport({ target: { ...target, precision }, account: [] });
  expect(commandLine(model, { fixCommand })).toBe(command);
});

test("what no command is sure to make has none to copy", () => {
  expect(commandLine(modelReport(), { fixCommand: null })).toBeUndefined();
});
