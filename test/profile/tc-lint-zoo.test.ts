/**
 * Measured steps of the bundled runtime that took what its planner foresaw are the planner's account, step by step, and steps that took so
 * many times as long are so many times the account: what a repair saves included.
 */
import { describe, expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { eachModel, zooModel } from "../zoo.ts";
import { benchOf } from "./bench-file.ts";
import { profileFolder } from "./files.ts";
import { expectMeasured } from "./in-measure.ts";

const file = profileFolder();

/** Attention and norms in several nodes, products side by side, chains, conversions at inputs and outputs. */
const names = [
  ...["crnn", "mobilenet_v2", "llama", "gpt2_dynamo", "sd_unet", "seg_unet", "misaligned_cnn_dynamo"],
  ...["resnet50", "tcn_dynamo", "siamese", "yolo_w0375", "misaligned_mlp", "vit_tiny"],
];

const options = { stack: "tc-runtime", gpu: "h200", layers: true, verbose: true } as const;

/** What writing half keeps in FP32 is foreseen beside predictions alone, and so is what that is decided without. */
function said({ code, message }: { readonly code: string; readonly message: string }): string {
  return `${code} ${message.replace(/, and (FP16|BF16) is told .*$/, "")}`;
}

describe("on tc-runtime", () => {
  eachModel(names)(
    "%s: the account of a bench is the planner's, in its measure",
    async (name) => {
      for (const precision of ["fp16", "as-is"] as const) {
        const predicted = await lint(zooModel(name), { ...options, precision });
        // What ran in half is told so; a prediction of half that costs is of the file as it is stored.
        if (predicted.predicted.half !== undefined) continue;
        for (const times of [1, 40]) {
          const bench = await benchOf(zooModel(name), { precision, times, dims: predicted.symbols });
          const profile = [file("bench.json", bench)];
          const measured = await lint(zooModel(name), { ...options, profile });
          expect(measured.target.precision).toBe(precision);
          expect(measured.notices.map(said)).toEqual(predicted.notices.map(said));
          expectMeasured(measured, predicted, times);
        }
      }
    },
    60_000,
  );

  eachModel(names)(
    "%s: no node that runs is without a step",
    async (name) => {
      const bench = await benchOf(zooModel(name), { precision: "fp16", times: 1 });
      const profile = [file("bench.json", bench)];
      for (const stack of ["tc-runtime", "ort-cuda"] as const) {
        const report = await lint(zooModel(name), { ...options, stack, profile });
        expect(report.profile?.untimed).toEqual({ nodes: 0, share: 0 });
        const total = bench.configurations[0]?.steps.reduce(
          (sum, { times, runShare }) => sum + times.median * (runShare ?? 1),
          0,
        );
        expect(report.predicted.microseconds).toBeCloseTo(total ?? Number.NaN, 6);
      }
    },
    60_000,
  );
});
