/** @file What is said of a profile: how much of it is whose, and whether it is this model's at all. */
import { InputError } from "../ir/errors.ts";
import { percent } from "../ir/format.ts";
import type { ProfileReport } from "../lint/result.ts";
import type { Timeline } from "../workload/timeline.ts";
import type { Match } from "./match.ts";
import { type Profile, short, toolNames } from "./profile.ts";

/** Below this share of its time, or of the model's nodes, it is another model's. */
const leastMatched = 0.5;
const mostListed = 10;

export function profileReport(
  { tool, runs, leftOut, statistic, layers, ran, onCpu }: Profile,
  match: Match,
  { files, predicted }: { readonly files: readonly string[]; readonly predicted: Timeline },
): ProfileReport {
  const microseconds = layers.reduce((sum, layer) => sum + layer.microseconds, 0);
  const unknown = match.layers.filter(({ places }) => places.size === 0).map(({ layer }) => layer);
  const apart = unknown.reduce((sum, layer) => sum + layer.microseconds, 0);
  const largest = unknown.toSorted((a, b) => b.microseconds - a.microseconds).slice(0, mostListed);
  const run = match.places.filter(({ step }) => step !== undefined);
  const untimed = run.filter((place) => !match.timed.has(place)).length;
  return {
    tool,
    files,
    runs,
    leftOut,
    statistic,
    ...(ran === undefined ? {} : { gpu: ran.gpu }),
    ...(onCpu === true ? { onCpu } : {}),
    microseconds,
    ...(ran?.wholeMicroseconds === undefined ? {} : { wholeMicroseconds: ran.wholeMicroseconds }),
    ...(ran?.wholeFp32Microseconds === undefined ? {} : { wholeFp32Microseconds: ran.wholeFp32Microseconds }),
    predicted: { microseconds: predicted.microseconds, low: predicted.low, high: predicted.high },
    unmapped: {
      microseconds: apart,
      share: apart / microseconds,
      layers: largest.map((layer) => ({ name: short(layer.name), microseconds: layer.microseconds })),
    },
    untimed: { nodes: untimed, share: run.length > 0 ? untimed / run.length : 0 },
  };
}

/** Throws InputError `profile-mismatch` where too little of the profile is the model's, or of the model the profile's. */
export function checkMatched({ tool, files, unmapped, untimed }: ProfileReport, model: string): void {
  const [ofTime, ofNodes] = [1 - unmapped.share, 1 - untimed.share];
  if (ofTime >= leastMatched && ofNodes >= leastMatched) return;
  const found = `${percent(ofTime)} of its time is that of nodes of ${model}, and ${percent(ofNodes)} of these have a time`;
  throw new InputError(
    "profile-mismatch",
    `${files.join(", ")}: ${found}; expected ${percent(leastMatched)} of both: another model's profile, or ${hints[tool]}`,
  );
}

const hints: Readonly<Record<Profile["tool"], string>> = {
  tensorrt: `${toolNames.tensorrt}'s names without its nodes, which trtexec --profilingVerbosity=detailed --exportLayerInfo=layers.json adds (--profile both)`,
  onnxruntime: "of a graph whose nodes have other names",
  "tc-lint": "of nodes that were renamed since",
  pytorch: "of modules without a name: call each within record_function (docs/profiles.md)",
};
