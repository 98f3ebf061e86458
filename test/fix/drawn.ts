/** @file One drawn network, fixed as `tc-lint --fix` does it, and looked at again by another eye: without a child process. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { Estimate } from "../../src/cost/model.ts";
import { writeEmulation } from "../../src/fix/emulation.ts";
import { fixModel } from "../../src/fix/fix.ts";
import { proveHalf } from "../../src/fix/half-proof.ts";
import { observableValues } from "../../src/fix/observable.ts";
import type { FixSettings } from "../../src/fix/pipeline.ts";
import { proveSame } from "../../src/fix/proof.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import { InputError } from "../../src/ir/errors.ts";
import { openModel } from "../../src/onnx/open.ts";
import type { Work } from "../../src/ops/work.ts";
import { align } from "../../src/passes/align/align.ts";
import { contiguousAxes } from "../../src/passes/align/remainder.ts";
import { channelsLast } from "../../src/passes/channels-last/channels-last.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { half } from "../../src/passes/half/half.ts";
import { raiseOpset } from "../../src/passes/half/raise-opset.ts";
import { rescale } from "../../src/passes/half/rescale.ts";
import { join as joinPass } from "../../src/passes/join/join.ts";
import type { Pass, Ranges } from "../../src/passes/pass.ts";
import { compareModels } from "../../src/verify/index.ts";
import { observeHere } from "../../src/verify/ranges-here.ts";
import { taskOf } from "../../src/verify/verify.ts";
import { verifyHere } from "../../src/verify/verify-here.ts";
import { hardNetworks, networkOf } from "../passes/random-network.ts";
import { sequenceNetworkOf, sequenceNetworks } from "../passes/random-sequence.ts";
import { refute } from "./refute.ts";

export const modes = {
  safe: { passes: [fold, joinPass, align], half: undefined },
  fp16: { passes: [fold, joinPass, align, rescale, half], half: "fp16" },
  bf16: { passes: [fold, joinPass, align, raiseOpset, half], half: "bf16" },
  nhwc: { passes: [fold, joinPass, align, channelsLast], half: undefined },
  all: { passes: [fold, joinPass, align, rescale, half, channelsLast], half: "fp16" },
  // Of a network that a step to NHWC wrote.
  again: { passes: [fold, joinPass, align], half: undefined },
} as const satisfies Record<string, { passes: readonly Pass[]; half: "fp16" | "bf16" | undefined }>;

export type Mode = keyof typeof modes;

/**
 * `wrong` is proven by the fix and refuted here; `beyond` is refuted where the original multiplies infinities or NaN, which
 * a fix does not promise anything of; `declined` has no form in the precision asked for; `not run` is a
 * network that ONNX Runtime does not take.
 */
export const verdicts = [
  "fixed",
  "unchanged",
  "bisected",
  "refused",
  "wrong",
  "beyond",
  "declined",
  "not run",
] as const;
export type Verdict = (typeof verdicts)[number];

export interface Tried {
  readonly verdict: Verdict;
  /** What was left out, refused or wrong. */
  readonly detail: string;
}

export interface Drawn {
  readonly bytes: Uint8Array;
  /** Sizes bound at fix time, by symbol. */
  readonly dims: Readonly<Record<string, number>>;
  /** Rows of the table that ids are of. */
  readonly rows: number;
  readonly text: string;
}

/** The network of a number: of images, or of sequences. */
export function drawNetwork(seed: number, mode: Mode): Drawn {
  const parameters = { seed, numRuns: 1 };
  const isImage = mode === "nhwc" || mode === "again" || seed % 3 === 0;
  if (isImage) {
    const [plan = []] = fc.sample(hardNetworks, parameters);
    return { bytes: networkOf(plan).bytes, dims: {}, rows: 0, text: JSON.stringify(plan) };
  }
  const [plan] = fc.sample(sequenceNetworks, parameters);
  if (plan === undefined) throw new Error("fast-check draws one plan");
  const isBound = plan.isSymbolic && seed % 2 === 0;
  return {
    bytes: sequenceNetworkOf(plan).bytes,
    dims: isBound ? { batch: 2, seq: 5 } : {},
    rows: plan.rows,
    text: JSON.stringify(plan),
  };
}

/** Prices that make every padding pay: what is under test is whether it is right. */
function priceOf(work: Work<number>): number {
  if (work.kind === "traffic") return 0.01;
  const off = contiguousAxes(work).filter((size) => size % 8 !== 0).length;
  return 10 * (1 + off);
}

function estimate(work: Work<number>): Estimate {
  const microseconds = priceOf(work);
  const sure = { microseconds, low: microseconds, high: microseconds, biasMicroseconds: 0 };
  return { ...sure, bound: "dram", tensorCore: true, flops: 1, bytes: 1 };
}

function settingsOf(mode: Mode, dims: Drawn["dims"]): FixSettings {
  const gpu = findGpu("h200");
  if (gpu === undefined) throw new Error("there is an H200 among the GPUs");
  return {
    target: { gpu, stack: stacks.cudnn, precision: "fp16" },
    cost: {
      kinship: () => "measured",
      estimate,
      savingOf: () => ({ microseconds: 1, low: 1, high: 1 }),
      savingOfRuns: () => ({ microseconds: 1, low: 1, high: 1 }),
    },
    dims: new Map(Object.entries(dims)),
    passes: modes[mode].passes,
    minSaving: 0,
    options: {
      halfType: modes[mode].half === "bf16" ? "bfloat16" : "float16",
      halfIo: false,
      ranges: undefined,
      nhwcIo: false,
      nhwcForm: "portable",
    },
  };
}

/** To NHWC, in place, and nothing else. */
async function turn(path: string, dims: Drawn["dims"]): Promise<void> {
  const verify = () => Promise.resolve({ kind: "unverified", summary: "" } as const);
  const settings = { ...settingsOf("nhwc", dims), passes: [channelsLast] };
  await fixModel({ path, destination: path, settings, dryRun: false, promise: "unverified", verify });
}

/** Recurrent layers without samples end the process that ONNX Runtime runs in. */
function inProcess({ text }: Drawn): typeof compareModels {
  const emptyBatch = !text.includes('"recurrent"');
  return (original, candidate, options) =>
    verifyHere({ ...taskOf(original, candidate, { ...options, threads: 1 }), emptyBatch }, () => {});
}

/**
 * Fixes the network in a folder of its own, and looks at the result again. With the script of a child process it is
 * compared as the command line does it, where ONNX Runtime may crash; else in this process, which is faster.
 */
export async function tryNetwork(drawn: Drawn, mode: Mode, childUrl?: URL): Promise<Tried> {
  const folder = mkdtempSync(join(tmpdir(), "tc-lint-drawn-"));
  try {
    return await tryIn(folder, drawn, mode, childUrl);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function tryIn(folder: string, drawn: Drawn, mode: Mode, childUrl: URL | undefined): Promise<Tried> {
  const { bytes, dims, rows } = drawn;
  const path = join(folder, "model.onnx");
  const destination = join(folder, "fixed.onnx");
  writeFileSync(path, bytes);
  // What its products read is seen in the network before that.
  const network = join(folder, "network.onnx");
  writeFileSync(network, bytes);
  if (mode === "again") await turn(path, dims);
  const precision = modes[mode].half;
  const settings = await withRanges(path, settingsOf(mode, dims), precision);
  try {
    const outcome = await fixModel({
      path,
      destination,
      settings,
      dryRun: false,
      promise: "verified",
      verify: (original, candidate, { permutations, assumesFinite }) => {
        const sizes = Object.fromEntries(Object.entries(dims).map(([name, size]) => [name, [size]]));
        const request = {
          path,
          original,
          candidate,
          permutations,
          assumesFinite,
          half: precision,
          sizes,
          childUrl: childUrl ?? new URL("file:///none"),
          compare: childUrl === undefined ? inProcess(drawn) : compareModels,
        };
        return precision === undefined ? proveSame(request) : proveHalf(request, settings.options.halfType);
      },
    });
    if (!outcome.changed) return { verdict: "unchanged", detail: "" };
    const emulated = join(folder, "emulated.onnx");
    if (precision !== undefined) await writeEmulation(destination, emulated, settings.options.halfType);
    // ONNX Runtime's CPU has no BF16.
    const candidates =
      precision === undefined ? [destination] : precision === "bf16" ? [emulated] : [destination, emulated];
    for (const candidate of candidates) {
      const found = await refute({ original: network, candidate, rows, precision });
      if (found !== undefined) return { verdict: found.isBeyond ? "beyond" : "wrong", detail: found.text };
    }
    const failed = outcome.notes.filter(({ kind }) => kind === "failed").map(({ message }) => message);
    return { verdict: failed.length > 0 ? "bisected" : "fixed", detail: failed.join(" | ") };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const isOriginal = error.code === "cannot-run" && error.message.startsWith(`${path}:`);
    return {
      verdict: isOriginal ? "not run" : "refused",
      detail: `${error.code}: ${error.message.replaceAll(folder, "")}`,
    };
  }
}

async function withRanges(
  path: string,
  settings: FixSettings,
  precision: string | undefined,
): Promise<FixSettings> {
  if (precision === undefined) return settings;
  let ranges: Ranges | undefined;
  try {
    using model = openModel(path);
    const values = observableValues(model, settings);
    const task = { path, values, samples: undefined, seeds: 2, sizes: {}, threads: 1 };
    const largest = values.length === 0 ? new Map() : await observeHere(task, () => {});
    ranges = { largest, areSamples: false };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
  }
  return { ...settings, options: { ...settings.options, ranges } };
}
