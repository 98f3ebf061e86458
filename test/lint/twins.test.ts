/** Two exporters write one network: its account is the same, where a stack runs the same kernels for what they write differently. */
import { describe, expect, it } from "vitest";
import type { StackId } from "../../src/hardware/stacks.ts";
import type { ModelReport } from "../../src/lint/result.ts";
import { openModel } from "../../src/onnx/open.ts";
import { lint } from "../rules/lint.ts";
import { zooModel, zooNames } from "../zoo.ts";

const twins = zooNames.filter((name) => zooNames.includes(`${name}_dynamo`));

/** Without what --fix removes: a file may hold nodes that change nothing, which the runtime keeps. */
function whatIsLeft(name: string, stack: StackId): number {
  using model = openModel(zooModel(name));
  const report: ModelReport = lint(model, { stack, decided: true, minSaving: 0.005 });
  const safe = report.account.find(({ step }) => step === "safe");
  return (safe ?? report.predicted).microseconds;
}

describe.each<StackId>(["ort-cuda", "inductor", "tensorrt"])("on %s", (stack) => {
  it.each(twins)("%s takes what its dynamo export takes, within 3 %", (name) => {
    const ratio = whatIsLeft(name, stack) / whatIsLeft(`${name}_dynamo`, stack);
    expect(Math.abs(ratio - 1)).toBeLessThan(0.03);
  });
});
