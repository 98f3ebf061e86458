/** What a run is called says what was done: a repair that found nothing repaired nothing. */
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { planFile } from "../../src/api/runs.ts";
import { benchReport } from "../../src/gpu/bench-report.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { invariant } from "../../src/ir/errors.ts";
import { benchOf } from "../profile/bench-file.ts";
import { zooModel } from "../zoo.ts";

const aligned = fileURLToPath(new URL("../../fixtures/models/aligned-mlp.onnx", import.meta.url));
/** Padding gains there. */
const misaligned = zooModel("seg_unet");

it.each([
  [misaligned, true, "fp16 fixed"],
  [aligned, true, "fp16, nothing to fix"],
  [misaligned, false, "fp16 as exported"],
])("a plan of %s, repaired first: %s, is %s", async (file, fix, precision) => {
  const gpu = findGpu("h200");
  invariant(gpu !== undefined, "the H200 has a row");
  const choice = { precision: "fp16", fix, dims: {}, config: { kind: "none" } } as const;
  const limits = { timeoutSeconds: undefined, memoryBytes: undefined, onNotice: () => undefined };
  expect(await planFile(file, gpu, choice, limits)).toMatchObject({ precision });
});

it.each([
  [true, { name: "FP16 fixed", fixed: true }],
  [false, { name: "FP16, nothing to fix", fixed: false }],
])("a run whose repair changed something (%s) is %o", async (isFixed, expected) => {
  const { configurations, gpu } = await benchOf(aligned, { precision: "fp16", times: 1 });
  const [configuration] = configurations;
  invariant(configuration !== undefined, "one configuration was timed");
  const { name: _, model: __, precision: ___, fixed: ____, ...timed } = configuration;
  const run = { ...timed, outputs: [], isFixed };
  const asked = { name: "FP16 fixed", model: "m.onnx", precision: "fp16", fixed: true } as const;
  const report = {
    kind: "run",
    device: gpu,
    driverVersion: 13_000,
    runs: [run],
    cacheProblem: undefined,
  } as const;
  expect(benchReport(report, [asked]).configurations).toMatchObject([expected]);
});
