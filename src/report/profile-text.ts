/** @file Measured times in words: whose they are, and what of them is no node's. */
import { counted, duration, durationRange, percent } from "../ir/format.ts";
import type { ModelReport, ProfileReport } from "../lint/result.ts";
import { fasterAsStored } from "./account-text.ts";
import { basisText } from "./entries.ts";

const tools: Readonly<Record<ProfileReport["tool"], string>> = {
  tensorrt: "TensorRT",
  onnxruntime: "ONNX Runtime",
  pytorch: "PyTorch",
  "tc-lint": "tc-lint's own runtime",
};

/** What a time of the model is: `predicted`, or `measured`. */
export function timeWord({ profile }: Pick<ModelReport, "profile">): "predicted" | "measured" {
  return profile === undefined ? "predicted" : "measured";
}

/** `83 %`; undefined where it ran on what has no Tensor Cores. */
export function tensorCoreText({
  predicted,
  profile,
}: Pick<ModelReport, "predicted" | "profile">): string | undefined {
  return profile?.onCpu === true ? undefined : percent(predicted.tensorCoreShare);
}

/** What a time is of: the target, beside the CPU that ran it where that was one, and how launches follow one another where that is predicted. */
export function whereText(
  target: string,
  { profile }: Pick<ModelReport, "profile">,
  isBrief = false,
): string {
  if (profile === undefined) return isBrief ? target : `${target} in a CUDA graph`;
  return profile.onCpu ? `a CPU's run, weighed for ${target}` : target;
}

/** What stands beside the model's time: its interval and what it rests on, or who measured it and where. */
export function timeNote({
  predicted,
  profile,
  account,
}: Pick<ModelReport, "predicted" | "profile" | "account">): {
  readonly range: string;
  readonly basis: string;
} {
  const { low, high, basis } = predicted;
  if (profile === undefined) {
    return {
      range: `${durationRange(low, high)}${besideText({ predicted, account })}`,
      basis: basisText[basis],
    };
  }
  const machine = profile.onCpu === true ? "a CPU" : profile.gpu;
  const where = machine === undefined ? "" : ` on ${machine}`;
  return {
    range: runsText(profile),
    basis: `by ${tools[profile.tool]}${where}: ${profile.files.join(", ")}`,
  };
}

/** `; 104 µs as it is stored`, `; in FP16 121 µs`: the other of the two, where half costs. */
function besideText({ predicted: { half }, account }: Pick<ModelReport, "predicted" | "account">): string {
  if (half !== undefined) return `; in ${half.precision.toUpperCase()} ${duration(half.microseconds)}`;
  const stored = fasterAsStored(account);
  return stored === undefined ? "" : `; ${stored} as it is stored`;
}

/** `median of 3 runs, the first left out`. */
function runsText({ runs, leftOut, statistic }: ProfileReport): string {
  const over = runs === 1 ? "1 run" : `${statistic} of ${counted(runs, "run")}`;
  return leftOut === 0 ? over : `${over}, the first left out`;
}

/** What was predicted, and what is not mapped; nothing where nothing was measured. */
export function profileNotes({ profile }: Pick<ModelReport, "profile">): string[] {
  if (profile === undefined) return [];
  const { predicted, unmapped, untimed, wholeMicroseconds, wholeFp32Microseconds } = profile;
  const notes = [
    `predicted were ${duration(predicted.microseconds)} (${durationRange(predicted.low, predicted.high)}); savings are predictions in the measure of what was measured`,
  ];
  if (wholeMicroseconds !== undefined)
    notes.push(
      `a whole run took ${duration(wholeMicroseconds)}; its steps were timed one by one, and add up to ${duration(profile.microseconds)}`,
    );
  if (wholeMicroseconds !== undefined && wholeFp32Microseconds !== undefined)
    notes.push(
      `a whole run in FP32 took ${duration(wholeFp32Microseconds)} in the same benchmark, beside ${duration(wholeMicroseconds)}; its steps were not timed, and it is no line of the account`,
    );
  if (unmapped.layers.length > 0) {
    const names = unmapped.layers.slice(0, 3).map(({ name }) => name);
    const more = unmapped.layers.length > names.length ? ", …" : "";
    const share = `${percent(unmapped.share)} of the measured time (${duration(unmapped.microseconds)})`;
    notes.push(`${share} is of layers that are no node of the model: ${names.join(", ")}${more}`);
  }
  if (untimed.nodes > 0)
    notes.push(
      `no layer names ${counted(untimed.nodes, "node")} (${percent(untimed.share)} of those with a kernel): no time is theirs`,
    );
  return notes;
}
