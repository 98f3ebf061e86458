/** @file The safe fixes of the models that were dropped, as files to keep; nothing here can run a model, so nothing is compared. */
import { entryOf, type FixEntry, failedEntry } from "../../api/fix-report.ts";
import { repairOf, safeFix } from "../../api/fix-settings.ts";
import { type FixedFile, renderFix } from "../../fix/render-files.ts";
import { shellWord } from "../../ir/fix-command.ts";
import type { ModelReport } from "../../lint/result.ts";
import { DataFiles, type DataFolder } from "../../onnx/data-files.ts";
import { modelFromSource, type OpenModel } from "../../onnx/read-model.ts";
import { inputErrorOf } from "../../onnx/surroundings.ts";
import { reportOf } from "../../report/summary.ts";
import type { LintPlan } from "../../settings/lint-plan.ts";
import { version } from "../../version.ts";
import { SegmentSource } from "../../wire/segments.ts";
import type { Download, Fixed, Job } from "../protocol.ts";
import { openDropped, sorted } from "./dropped.ts";
import { lintOpened, type OnProgress } from "./lint.ts";
import { pageOf } from "./page.ts";
import { blobOf } from "./segments-blob.ts";
import { planFor, settingsFor } from "./settings.ts";

interface Repaired {
  readonly entry: FixEntry;
  readonly downloads: readonly Download[];
  /** What is found in the result; undefined where nothing was changed. */
  readonly report: ModelReport | undefined;
}

/** Throws InputError of the only model; what is wrong with one of several is in its entry. */
export function fixJob({ files, target }: Job, onProgress: OnProgress): Fixed {
  const { models, folder } = sorted(files);
  const repaired = models.map((file) => {
    const plan = planFor(file.name, target);
    const name = fixedName(file.name);
    try {
      onProgress(`fixing ${file.name}`);
      return repair(file, folder, plan, name);
    } catch (error) {
      const input = inputErrorOf(error);
      if (models.length === 1 || input === undefined) throw error;
      return { entry: failedEntry(plan, name, input), downloads: [], report: undefined };
    }
  });
  onProgress("drawing the report");
  const reports = repaired.flatMap(({ report }) => report ?? []);
  const lint = reports.length === 0 ? null : reportOf(reports, version);
  const fixes = repaired.map(({ entry }) => entry);
  return {
    kind: "fixed",
    page: pageOf({ fixes, lint }, sizesOf(repaired)),
    downloads: repaired.flatMap(({ downloads }) => downloads),
    verify: fixes.filter(({ written }) => written).map(({ path }) => verifyCommand(path)),
  };
}

export function fixedName(name: string): string {
  return `${name.replace(/\.onnx$/i, "")}.fixed.onnx`;
}

function verifyCommand(name: string): string {
  // A name that looks like an option is none behind these.
  const marker = name.startsWith("-") ? ["--"] : [];
  return ["tc-lint", "verify", ...marker, name, fixedName(name)].map(shellWord).join(" ");
}

function repair(file: File, folder: DataFolder, plan: LintPlan, name: string): Repaired {
  using original = openDropped(file, folder);
  const settings = repairOf(settingsFor(original, plan), safeFix);
  const summary = `not verified here, where no ONNX Runtime is; run: ${verifyCommand(file.name)}`;
  const { outcome, files } = renderFix(original, settings, name, summary);
  const entry = entryOf(outcome, undefined, plan.settings.configFiles);
  const [model, ...data] = files;
  if (model === undefined) return { entry, downloads: [], report: undefined };
  using result = reopened(model, data, original);
  const report = lintOpened(result, { ...plan, path: name });
  const origin = { source: original.source, file };
  const downloads = files.map((each) => ({ name: each.name, content: blobOf(each.segments, origin) }));
  return { entry, downloads, report };
}

/** What was made must open, and find its data, as what is written does. */
function reopened(model: FixedFile, data: readonly FixedFile[], original: OpenModel): OpenModel {
  const sources = new Map(data.map(({ name, segments }) => [name, new SegmentSource(name, segments)]));
  const folder: DataFolder = {
    find: (location) => {
      const source = sources.get(location);
      return source === undefined
        ? original.files.find(location)
        : { bytes: source.size, open: () => source };
    },
  };
  const result = modelFromSource(new SegmentSource(model.name, model.segments), new DataFiles(folder));
  return result;
}

function sizesOf(repaired: readonly Repaired[]): File[] {
  return repaired.flatMap(({ downloads }) => downloads.map(({ name, content }) => new File([content], name)));
}
