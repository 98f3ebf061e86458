/** @file Whether a decoder says on the GPU what ONNX Runtime says, token by token, and what a token takes. */
import type { Precision } from "../../../cuda-runtime/plan/precision.ts";
import { versionText } from "../../../cuda-runtime/session/open.ts";
import { gpuOfDevice } from "../../hardware/machine.ts";
import { InputError } from "../../ir/errors.ts";
import { openModel } from "../../onnx/open.ts";
import { verifyChildUrl } from "../../verify/child-url.ts";
import { compareDecoded } from "../../verify/decode/compare.ts";
import { decoderPorts } from "../../verify/decode/ports.ts";
import { Random } from "../../verify/random.ts";
import { decodedReferenceOf } from "../../verify/reference.ts";
import { numbersOf, type Tensors } from "../../verify/tensor.ts";
import { useOf } from "../../verify/use.ts";
import { askGpu, type GpuLimits, kernelsUrl } from "../process.ts";
import { judgementOf } from "../validate/precision.ts";
import type { DecodeReport } from "./report.ts";

export interface DecodeOptions {
  /** Tokens behind the prompt. */
  readonly count: number;
  /** Of a prompt that is drawn; `inputs` may give one instead, under the name of the tokens' input. */
  readonly prompt: number;
  readonly inputs: Tensors | undefined;
  /** Undefined: as it is stored, where that is half; else FP16. */
  readonly precision: Precision | undefined;
  readonly device: number;
  readonly repeats: number | undefined;
  readonly warmup: number | undefined;
}

/** Of the largest score: what rounding moves scores by, so that two that are closer may change places. */
const ties: Readonly<Record<"half" | "relative", number>> = { half: 2 ** -8, relative: 1e-5 };
const bfloatTie = 2 ** -5;
/** Where a table's size is not known, tokens are taken from the first few. */
const smallVocabulary = 256;

/** Throws InputError where that cannot be found out. */
export async function validateDecode(
  path: string,
  options: DecodeOptions,
  limits: GpuLimits,
): Promise<DecodeReport> {
  const { precision, budget } = judgementOf(path, options.precision);
  const isBfloat = budget.kind === "half" && budget.dtype === "bfloat16";
  const tie = isBfloat ? bfloatTie : ties[budget.kind];
  const { device, repeats, warmup, count } = options;
  const prompt = promptOf(path, options);
  const start = performance.now();
  // Without a GPU nobody has to wait for the reference.
  await askGpu({ kind: "run", device, kernels: kernelsUrl, runs: [] }, limits);
  const task = { path, prompt, count, threads: undefined };
  const expected = await decodedReferenceOf(task, { ...limits, childUrl: verifyChildUrl });
  const referenceSeconds = (performance.now() - start) / 1000;
  const { tokens } = expected;
  const run = await askGpu(
    {
      kind: "decode",
      device,
      kernels: kernelsUrl,
      path,
      precision,
      prompt,
      tokens,
      time: { repeats, warmup },
    },
    limits,
  );
  const { others, largestError } = compareDecoded(expected, run, tie);
  // Bytes in a microsecond are megabytes in a second.
  const weightBandwidth = (run.step.weightBytes / run.step.times.median) * 1e6;
  const promised = gpuOfDevice(run.device)?.dramGBps;
  return {
    model: path,
    precision,
    gpu: run.device,
    driver: `CUDA ${versionText(run.driverVersion)}`,
    reference: expected.runtime,
    same: others.every(({ isTie }) => isTie),
    ...{ prompt, tokens, others, tie },
    largestError: Number.isFinite(largestError) ? largestError : null,
    prefill: run.prefill,
    step: run.step,
    isInPlace: run.isInPlace,
    weightBandwidth,
    bandwidthShare: promised === undefined ? undefined : weightBandwidth / (promised * 1e9),
    seconds: {
      reference: referenceSeconds,
      GPU: (performance.now() - start) / 1000 - referenceSeconds,
    },
  };
}

/** Given, or drawn from the tokens that the model's table has. */
function promptOf(path: string, { inputs, prompt }: DecodeOptions): number[] {
  using model = openModel(path);
  const { ids } = decoderPorts(model);
  const given = inputs?.get(ids.name);
  if (given !== undefined) {
    const tokens = Array.from(numbersOf(given));
    if (given.dims.at(-1) === tokens.length && tokens.length > 0) return tokens;
    throw new InputError(
      "usage",
      `--inputs: "${ids.name}" is [${given.dims.join(",")}], expected one prompt`,
    );
  }
  if (inputs !== undefined) throw new InputError("usage", `--inputs: has no "${ids.name}", the prompt`);
  const value = model.graph.inputs.find(({ name }) => name === ids.name);
  const use = value && useOf(model, value, new Map());
  const most = use?.kind === "index" ? use.below : smallVocabulary;
  const random = new Random("a prompt");
  return Array.from({ length: prompt }, () => random.integer(0, most - 1));
}
