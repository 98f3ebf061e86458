/** @file Opens one model and lints it by its plan: in the main thread for one model, in workers for several. */
import type { LintRecord } from "../files/lint-cache.ts";
import { readCalibration } from "../files/read-calibration.ts";
import { samplesOf } from "../ir/symbols.ts";
import { type OnRead, ReadTooMuch } from "../limits/reading.ts";
import { BlockSource, keptBytes, smallBlockBytes } from "../onnx/block-source.ts";
import { missingWeights } from "../onnx/missing-weights.ts";
import { openModel } from "../onnx/open.ts";
import { presentWeights, weightFiles } from "../onnx/weights.ts";
import type { LintOutcome, LintPlan } from "../settings/lint-plan.ts";
import { type ByteSource, CountedSource } from "../wire/source.ts";
import { decidedReport } from "./decided-fix.ts";
import { failureOf } from "./failed-report.ts";
import { idleCalibration } from "./idle-calibration.ts";
import { noteLinted } from "./linted-here.ts";
import { rulesOf } from "./plugins.ts";
import { withProfile } from "./profile.ts";
import { refuse } from "./refuse.ts";
import { settingsOf, TimelineMissing } from "./timelines.ts";

/** Safe fixes look at small tensors one by one. Of a larger file, large blocks would be mostly weights that nobody asks for. */
export function inMemory(file: ByteSource, onRead?: OnRead): ByteSource {
  if (file.size <= keptBytes) return new BlockSource(file);
  return new BlockSource(onRead === undefined ? file : new CountedSource(file, onRead), smallBlockBytes);
}

export interface LintHooks {
  /** Told what begins. */
  readonly onPhase?: ((phase: string) => void) | undefined;
  /** Told what is read of a large file. */
  readonly onRead?: OnRead | undefined;
  /** For a plan with a cache: records what is read, and keeps what comes of it. */
  readonly newRecord?: ((plan: LintPlan) => LintRecord) | undefined;
}

/** Never throws, but for what `onRead` throws, and TimelineMissing: what goes wrong with one model is in its report. */
export function lintFile(plan: LintPlan, { onPhase, onRead, newRecord }: LintHooks = {}): LintOutcome {
  try {
    refuse(plan);
    onPhase?.("reading");
    const record = newRecord?.(plan);
    using model = openModel(
      plan.path,
      (file) => inMemory(record?.ofModel(file) ?? file, onRead),
      record && ((location, file) => record.ofData(location, file)),
    );
    const files = weightFiles(model);
    const notices = [...model.notices, ...missingWeights(model, files)];
    const calibration = readCalibration(plan.settings.calibration);
    const priced = settingsOf(model, { ...plan, rules: rulesOf(plan.settings), calibration, notices });
    const bound = [...(priced.shapes?.keys() ?? []), ...(priced.dims?.keys() ?? [])];
    onPhase?.("inferring and costing");
    const settings = withProfile(model, priced, plan);
    const report = decidedReport(model, settings);
    noteLinted();
    const outcome: LintOutcome = {
      report,
      bound,
      ...idleCalibration(calibration, priced),
      samples: plan.scenario && samplesOf(model, new Map(Object.entries(report.symbols))),
      weights: presentWeights(model, files),
    };
    if (record === undefined) return outcome;
    const locations = files.map(({ location }) => location);
    return { ...outcome, cache: record.keep(locations, outcome) };
  } catch (error) {
    if (error instanceof ReadTooMuch || error instanceof TimelineMissing) throw error;
    return failureOf(plan, error);
  }
}
