/** @file What is claimed in every precision that a target can be asked for is a part of a step of the account, as it is in FP16. */
import { lint } from "../../src/api/lint.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";
import { expectParts } from "./sums.ts";

const targets = [
  ["cudnn", "int8"],
  ["cudnn", "bf16"],
  ["cudnn", "tf32"],
  ["inductor", "int8"],
  ["inductor", "as-is"],
  ["ort-cuda-nhwc", "int8"],
  ["ort-cuda", "bf16"],
  ["tensorrt", "int8"],
] as const;

eachModel(zooNames)(
  "%s: each finding is a part of a step, in every precision",
  async (name) => {
    for (const [stack, precision] of targets)
      expectParts(await lint(zooModel(name), { stack, precision, verbose: true }));
  },
  120_000,
);
