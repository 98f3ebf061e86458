/** A profile of the predicted times is the prediction, and one of times so many times as long is so many times the account. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import type { ModelReport } from "../../src/lint/result.ts";
import { eachModel, zooModel } from "../zoo.ts";
import { expectMeasured } from "./in-measure.ts";

const folder = mkdtempSync(join(tmpdir(), "tc-lint-profile-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Every kind of layer, subgraphs and functions, from both exporters. */
const names = [
  ...["crnn", "mobilenet_v2", "llama", "gpt2_dynamo", "sd_unet", "seg_unet", "misaligned_cnn_dynamo"],
  ...["resnet50", "vit_tiny", "tcn_dynamo", "siamese", "yolo_w0375"],
];

/** What TensorRT would write of kernels that take `times` the predicted time. */
function profileOf({ layers = [], path }: ModelReport, times: number): string {
  const entries = layers.map(({ node, fused, microseconds }) => {
    const averageMs = (microseconds * times) / 1000;
    return { name: [node, ...fused].join(" + "), timeMs: averageMs * 10, averageMs, percentage: 1 };
  });
  const file = join(folder, `${path.replaceAll("/", "_")}-${times}.json`);
  writeFileSync(file, JSON.stringify([{ count: 10 }, ...entries]));
  return file;
}

const options = { precision: "as-is", layers: true, verbose: true } as const;

describe.each<StackId>(["ort-cuda", "tensorrt"])("on %s", (stack) => {
  eachModel(names)(
    "%s: the account of a profile is that of the prediction, in its measure",
    async (name) => {
      const predicted = await lint(zooModel(name), { ...options, stack });
      for (const times of [1, 40]) {
        const measured = await lint(zooModel(name), {
          ...options,
          stack,
          profile: [profileOf(predicted, times)],
        });
        expect(measured.profile?.unmapped.share).toBeLessThan(1e-9);
        expectMeasured(measured, predicted, times);
      }
    },
    60_000,
  );
});
