/** @file `--profile`: a lint whose times are those that somebody measured. */
import { readProfile } from "../files/read-profile.ts";
import { InputError } from "../ir/errors.ts";
import type { NoticeReport } from "../lint/result.ts";
import type { LintSettings } from "../lint/run.ts";
import type { OpenModel } from "../onnx/open.ts";
import { matchLayers } from "../profile/match.ts";
import { type Profile, type ProfileTool, toolNames } from "../profile/profile.ts";
import { profileOf } from "../profile/read.ts";
import { checkMatched, profileReport } from "../profile/report.ts";
import { measuredTimes } from "../profile/timeline.ts";
import { priceModel } from "../workload/workload.ts";

/** The settings themselves where no profile is given. Throws InputError. */
export function withProfile(
  model: OpenModel,
  settings: LintSettings,
  files: readonly string[],
): LintSettings {
  if (files.length === 0) return settings;
  if (settings.timelineOf !== undefined)
    throw new InputError(
      "usage",
      "--profile: found beside --stack tc-runtime, whose own planner prices it; bench measures that",
    );
  const profile = profileOf(files.map(readProfile));
  const predicted = priceModel(model, settings);
  const match = matchLayers(profile, predicted);
  const report = profileReport(profile, match, { files, predicted: predicted.timeline });
  checkMatched(report, settings.displayPath);
  const { cost, timelineOf } = measuredTimes(predicted, match, settings.cost);
  const notices = [...settings.notices, ...noticesOf(profile, settings)];
  return { ...settings, cost, timelineOf, profile: report, budgets: [], notices };
}

/** Stacks that run as the tool does. */
const ownStacks: Readonly<Record<ProfileTool, readonly string[]>> = {
  tensorrt: ["tensorrt"],
  onnxruntime: ["ort-cuda", "ort-cuda-nhwc"],
  pytorch: ["inductor", "cudnn"],
};

function* noticesOf(
  { tool, onCpu }: Profile,
  { target, budgets = [] }: LintSettings,
): Iterable<NoticeReport> {
  if (onCpu === true) {
    const message = `the profile was run on a CPU: what is saved is the share of it that ${target.gpu.name} would save`;
    yield { code: "profile-cpu", message };
  }
  const own = ownStacks[tool];
  if (!own.includes(target.stack.id)) {
    const message = `the profile is ${toolNames[tool]}'s, and what runs as one kernel is that of --stack ${target.stack.id}: --stack ${own.join(" or ")} is how it was run`;
    yield { code: "profile-stack", message };
  }
  if (budgets.length > 0) {
    const message = "budgets are held against predictions, and are passed over beside a profile";
    yield { code: "profile-budgets", message };
  }
}
