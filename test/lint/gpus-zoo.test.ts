/** @file What holds of savings on the GPU that was measured holds on those whose intervals are the terms' own, two and three times as wide. */
import { lint } from "../../src/api/lint.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";
import { expectParts, expectSteps } from "./sums.ts";

type Place = readonly [stack: StackId, gpu: string];

/** On `cudnn` safe fixes claim most. */
const mostClaimed: readonly Place[] = [["cudnn", "l4"]];
const others: readonly Place[] = [
  ["cudnn", "t4"],
  ["cudnn", "a100"],
  ["ort-cuda", "l4"],
  ["ort-cuda", "t4"],
  ["ort-cuda-nhwc", "a100"],
  ["inductor", "t4"],
  ["tensorrt", "l4"],
  ["tc-runtime", "a100"],
];

async function expectOn(name: string, places: readonly Place[]): Promise<void> {
  for (const [stack, gpu] of places) {
    const report = await lint(zooModel(name), { stack, gpu, verbose: true });
    expectSteps(report);
    expectParts(report);
  }
}

eachModel(zooNames)(
  "%s: steps add up, and no end of a saving is beyond its step or its kernels",
  (name) => expectOn(name, mostClaimed),
  60_000,
);

eachModel(["misaligned_mlp", "seg_unet", "gpt2_dynamo", "crnn", "dlrm", "swin_tiny_dynamo"])(
  "%s: on every stack",
  (name) => expectOn(name, others),
  60_000,
);
