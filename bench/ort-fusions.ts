/**
 * @file What ONNX Runtime joins, beside what the account takes it to join: the file that its optimizer writes of each model of the zoo, priced as the file itself is.
 *
 *     node scripts/run.mjs bench/ort-fusions.ts > bench/results/ort-fusions.md
 *
 * By the CPU provider, whose optimizers are those of the CUDA provider but for two that are switched off and for BiasSoftmax, which the CUDA provider alone has.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import ort from "onnxruntime-node";
import { createCostModel } from "../src/cost/model.ts";
import { findGpu } from "../src/hardware/gpus.ts";
import { stacks } from "../src/hardware/stacks.ts";
import { invariant } from "../src/ir/errors.ts";
import { duration } from "../src/ir/format.ts";
import { openModel } from "../src/onnx/open.ts";
import { priceModel } from "../src/workload/workload.ts";

const zoo = resolve("..", "shared", "zoo");
const gpu = findGpu("h200");
invariant(gpu !== undefined, "the H200 has a row");
const target = { gpu, stack: stacks["ort-cuda"], precision: "as-is" } as const;
const cost = createCostModel();

interface Account {
  readonly kernels: number;
  readonly microseconds: number;
}

function account(file: string): Account {
  using opened = openModel(file);
  const { kernels, microseconds } = priceModel(opened, { target, cost }).timeline;
  return { kernels, microseconds };
}

async function optimize(file: string, into: string): Promise<void> {
  const session = await ort.InferenceSession.create(file, {
    executionProviders: ["cpu"],
    graphOptimizationLevel: "extended",
    optimizedModelFilePath: into,
    logSeverityLevel: 4,
    extra: {
      session: { optimized_model_external_initializers_file_name: "optimized.weights" },
      optimization: { disable_specified_optimizers: "ConvActivationFusion;GemmActivationFusion" },
    },
  });
  await session.release();
}

async function rowOf(name: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "tc-lint-fusions-"));
  try {
    execFileSync(process.execPath, [join(zoo, "materialize.mjs"), folder, name]);
    const [own, theirs] = [`${name}.onnx`, "optimized.onnx"].map((file) => join(folder, file));
    invariant(own !== undefined && theirs !== undefined, "two files");
    await optimize(own, theirs);
    const [left, right] = [account(own), account(theirs)];
    const ratio = (left.microseconds / right.microseconds).toFixed(3);
    const times = [left, right].map(({ microseconds }) => duration(microseconds));
    return `| ${[name, left.kernels, right.kernels, ...times, ratio].join(" | ")} |`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

console.log(`# What ONNX Runtime joins, and what the account takes it to join

\`node scripts/run.mjs bench/ort-fusions.ts > bench/results/ort-fusions.md\`

The file that the optimizer of ONNX Runtime ${ort.env.versions.node ?? ""} writes of each model of the zoo (its extended level, which is all that the CUDA provider has), priced for
\`ort-cuda\` on an H200 as the file itself is, in the types that it stores. By the CPU provider, without the two optimizers that it alone has
(ConvActivationFusion, GemmActivationFusion); BiasSoftmax, which the CUDA provider alone has, is in neither's file, and in both accounts.

What is left apart: the CPU provider has no kernel of HardSwish, which the CUDA provider has (mobilenetv3_small); its Transpose optimizer cuts a Transpose of queries, keys and
values into one of each (vit_tiny, siglip, mobilevit_xs, swin_tiny: as many elements, more launches), and takes two of convnext_tiny's Transposes away.

| model | kernels | of its file | account | of its file | ratio |
|---|--:|--:|--:|--:|--:|`);
for (const file of readdirSync(zoo)) {
  const name = /^(.*)\.onnx$/.exec(file)?.[1];
  if (name !== undefined) console.log(await rowOf(name));
}
