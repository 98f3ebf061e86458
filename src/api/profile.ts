/** @file `--profile`: a lint whose times are those that somebody measured. */
import { readProfile } from "../files/read-profile.ts";
import { collectSymbols } from "../ir/dim.ts";
import { InputError } from "../ir/errors.ts";
import type { NoticeReport } from "../lint/result.ts";
import type { LintSettings } from "../lint/run.ts";
import type { OpenModel } from "../onnx/open.ts";
import { matchLayers } from "../profile/match.ts";
import { type Profile, type ProfileTool, type RanAs, toolNames } from "../profile/profile.ts";
import { profileOf } from "../profile/read.ts";
import { checkMatched, profileReport } from "../profile/report.ts";
import { lastOf } from "../profile/tc-lint.ts";
import { measuredTimes } from "../profile/timeline.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { priceModel, type Workload } from "../workload/workload.ts";

/** The settings themselves where no profile is given. Throws InputError. */
export function withProfile(
  model: OpenModel,
  settings: LintSettings,
  { profiles: files = [], isPrecisionStated = false }: Pick<LintPlan, "profiles" | "isPrecisionStated">,
): LintSettings {
  if (files.length === 0) return settings;
  const precision = isPrecisionStated ? settings.target.precision : undefined;
  const profile = profileOf(files.map(readProfile), { model: settings.displayPath, precision });
  if (settings.timelineOf !== undefined && profile.tool !== "tc-lint")
    throw new InputError(
      "usage",
      `--profile: found ${toolNames[profile.tool]}'s beside --stack tc-runtime, whose own planner prices it; expected what tc-lint bench -f json writes`,
    );
  const asRun = profile.ran === undefined ? settings : runAs(profile.ran, model, settings);
  const predicted = priceModel(model, asRun);
  if (profile.ran !== undefined) checkSizes(profile.ran, predicted, files);
  const match = matchLayers(profile, predicted);
  const report = profileReport(profile, match, { files, predicted: predicted.timeline });
  checkMatched(report, settings.displayPath);
  const { cost, timelineOf } = measuredTimes(predicted, match, asRun);
  const notices = [...settings.notices, ...noticesOf(profile, asRun)];
  // No other stack was profiled.
  const others = asRun.others?.map((other) => ({ ...other, cost: asRun.cost }));
  // What a GPU would save of a CPU's time is no error of the model.
  const errorShare = profile.onCpu === true ? Number.POSITIVE_INFINITY : asRun.errorShare;
  return { ...asRun, cost, timelineOf, others, errorShare, profile: report, budgets: [], notices };
}

/** A file that says what it ran is believed, where the user says nothing else: at which sizes, and in which precision. */
function runAs({ precision, sizes }: RanAs, model: OpenModel, settings: LintSettings): LintSettings {
  const target = { ...settings.target, precision };
  // Whole shapes may give symbols a size, too: nothing is added to them.
  if ((settings.shapes?.size ?? 0) > 0) return { ...settings, target };
  const symbols = new Set<string>();
  for (const { declared } of model.graph.inputs)
    if (declared?.kind === "tensor") for (const dim of declared.shape ?? []) collectSymbols(dim, symbols);
  const ran = Object.entries(sizes).filter(([name]) => symbols.has(name));
  return { ...settings, target, dims: new Map([...ran, ...(settings.dims ?? [])]) };
}

/** Throws InputError `profile-mismatch`: what other sizes take is another run's time. */
function checkSizes({ sizes }: RanAs, { bindings }: Workload, files: readonly string[]): void {
  const other = Object.entries(sizes).find(([name, size]) => (bindings.get(name) ?? size) !== size);
  if (other === undefined) return;
  const [name, size] = other;
  const found = `${name}=${bindings.get(name)}`;
  throw new InputError(
    "profile-mismatch",
    `${files.join(", ")}: measured at ${name}=${size}, found ${found}; expected --dim ${name}=${size}, or tc-lint bench --dim ${found}`,
  );
}

/** Stacks that run as the tool does. */
const ownStacks: Readonly<Record<ProfileTool, readonly string[]>> = {
  tensorrt: ["tensorrt"],
  onnxruntime: ["ort-cuda", "ort-cuda-nhwc"],
  pytorch: ["inductor", "cudnn"],
  "tc-lint": ["tc-runtime"],
};

function* noticesOf(profile: Profile, settings: LintSettings): Iterable<NoticeReport> {
  const { target, budgets = [], displayPath } = settings;
  const { tool, onCpu, ran } = profile;
  if (ran !== undefined && lastOf(ran.model) !== lastOf(displayPath)) {
    const message = `the profile is of ${ran.model}, of which nodes have the names of this model's`;
    yield { code: "profile-model", message };
  }
  if (onCpu === true) {
    const message = `the profile was run on a CPU: what is saved is the share of it that ${target.gpu.name} would save`;
    yield { code: "profile-cpu", message };
  }
  if (ran !== undefined && ran.gpuRow !== target.gpu.id) {
    const row = ran.gpuRow === undefined ? "" : `: --gpu ${ran.gpuRow} is where it was run`;
    const message = `the profile was run on ${ran.gpu}: what is saved is the share of it that ${target.gpu.name} would save${row}`;
    yield { code: "profile-gpu", message };
  }
  const own = ownStacks[tool];
  if (!own.includes(target.stack.id)) {
    const ofTarget = `what runs as one kernel is that of --stack ${target.stack.id}`;
    const message = `the profile is of ${toolNames[tool]}, and ${ofTarget}: --stack ${own.join(" or ")} is how it was run`;
    yield { code: "profile-stack", message };
  }
  if (budgets.length > 0) {
    const message = "budgets are held against predictions, and are passed over beside a profile";
    yield { code: "profile-budgets", message };
  }
}
