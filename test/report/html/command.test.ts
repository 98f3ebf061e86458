/** @file The command that a page offers to copy does what its entry says, and no more. */
import { expect, test } from "vitest";
import { fixCommand } from "../../../src/report/html/command.ts";
import { modelReport } from "../sample.ts";

const target = { gpu: "h200", stack: "ort-cuda" } as const;

test.each([
  ["fp16", "safe", "tc-lint --fix --gpu h200 --stack ort-cuda --dim seq=128 models/gpt.onnx"],
  [
    "fp16",
    "unsafe",
    "tc-lint --fix --unsafe-fixes --gpu h200 --stack ort-cuda --dim seq=128 models/gpt.onnx",
  ],
  [
    "as-is",
    "safe",
    "tc-lint --fix --gpu h200 --stack ort-cuda --precision as-is --dim seq=128 models/gpt.onnx",
  ],
] as const)(
  "priced in %s, a fix that is %s stores no half that nobody asked for",
  (precision, fix, command) => {
    const model = modelReport({ target: { ...target, precision }, account: [] });
    expect(fixCommand(model, { fix, step: fix === "safe" ? null : "layout" })).toBe(command);
  },
);
