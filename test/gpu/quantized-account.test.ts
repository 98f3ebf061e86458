/** @file Which products of a quantized file multiply codes, by precision and GPU. */
import { describe, expect, it } from "vitest";
import { planModel } from "../../cuda-runtime/plan/build.ts";
import { float8Mlp } from "../../fixtures/quantized.ts";
import { gpus } from "../../src/hardware/gpus.ts";
import { machineOf } from "../../src/hardware/machine.ts";
import { invariant } from "../../src/ir/errors.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { weightsOf } from "./node-tests-data.ts";

function plan(bytes: Uint8Array, id: string, precision: "fp16" | "bf16" | "fp32" | "model") {
  const gpu = gpus.get(id);
  invariant(gpu !== undefined, id);
  const machine = machineOf(gpu);
  using model = modelFromBytes(bytes);
  const { steps } = planModel({ model, precision, target: machine, weights: weightsOf(model) });
  const entries = steps.flatMap(({ action }) =>
    action.kind === "launch" ? [action.launch.kernel.entry] : [],
  );
  return { entries };
}

describe("a quantized file", () => {
  const bytes = float8Mlp({ rows: 4096, widths: [1024, 2048, 1024] });

  it.each(["fp16", "bf16", "model"] as const)("multiplies codes in %s where the GPU does", (precision) => {
    const { entries } = plan(bytes, "h100", "fp32");
    const ofCodes = plan(bytes, "h100", precision).entries.filter((entry) => !entries.includes(entry));
    expect(ofCodes.filter((entry) => entry.startsWith("codes_"))).toHaveLength(2);
  });

  it.each(["fp16", "model"] as const)("is dequantized in %s where the GPU has no FP8", (precision) => {
    const { entries } = plan(bytes, "a100", precision);
    expect(entries.filter((entry) => entry.startsWith("codes_"))).toEqual([]);
  });
});
