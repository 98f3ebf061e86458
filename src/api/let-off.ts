/**
 * @file What a change adds to the baseline, it lets off: a model that is new with findings nobody will repair passes a comparison as it passes
 * a hook. What the baseline had before lets nothing off: it is of other findings.
 */
import { join } from "node:path";
import { freshOf } from "../compare/fresh.ts";
import type { CompareReport, ModelComparison } from "../compare/result.ts";
import { compareReportOf } from "../compare/summary.ts";
import type { BaseRevision } from "../files/base-revision.ts";
import {
  noSuppressions,
  readSuppressions,
  type SuppressionsFile,
  suppressedPath,
} from "../files/suppressions-file.ts";
import { InputError } from "../ir/errors.ts";
import { counted } from "../ir/format.ts";
import type { Finding } from "../lint/result.ts";
import { parseSuppressions, type Suppressions } from "../settings/suppressions.ts";
import { isCounted } from "./found-models.ts";
import type { ConfigChoice } from "./make-plans.ts";

export interface BaselineRequest {
  readonly config: ConfigChoice;
  readonly suppressions: { readonly location: string | undefined; readonly isRead: boolean };
  readonly onNotice: (notice: string) => void;
}

/** A baseline that is there. */
export type Baseline = SuppressionsFile & { readonly content: Suppressions };

/** Of the working tree, before any work. Throws InputError `bad-suppressions` where it is none, or is named and not there. */
export function baselineOf({ config, suppressions, onNotice }: BaselineRequest): Baseline | undefined {
  const { location, isRead } = suppressions;
  if (!isRead) return undefined;
  const named = config.kind === "file" ? config.path : undefined;
  const file = readSuppressions({ config: named, location }, onNotice);
  const { content } = file;
  if (content !== undefined) return { ...file, content };
  if (location !== undefined) throw noSuppressions(file);
  return undefined;
}

export function withLetOff(
  report: CompareReport,
  revision: BaseRevision,
  file: Baseline,
  say: (notice: string) => void,
): CompareReport {
  const before = contentAt(revision, file.path, say);
  if (before === undefined) return report;
  const added = new Added({ file: file.path, before, after: file.content, revision });
  const found = newCounts(report.models);
  const models = report.models.map((model) =>
    letOff(model, added, found.get(model.path) ?? new Map(), file.shown),
  );
  return compareReportOf({ ...report, models }, report.tool.version);
}

/** Empty where the commit has none; undefined where nobody can tell. */
function contentAt(
  revision: BaseRevision,
  path: string,
  say: (notice: string) => void,
): Suppressions | undefined {
  try {
    const file = revision.fileAt(revision.placeOf(path));
    return file === undefined
      ? new Map()
      : parseSuppressions(revision.textOf(file), revision.named(file.path));
  } catch (error) {
    // Of another repository, or broken there, which the change may repair.
    if (!(error instanceof InputError)) throw error;
    say(`${error.message}: the baseline lets nothing new off`);
    return undefined;
  }
}

interface Baselines {
  readonly file: string;
  readonly before: Suppressions;
  readonly after: Suppressions;
  readonly revision: BaseRevision;
}

/** By how much a change raises what a model is let off. */
class Added {
  readonly #baselines: Baselines;

  constructor(baselines: Baselines) {
    this.#baselines = baselines;
  }

  to(model: ModelComparison, code: string): number {
    const { file, before, after } = this.#baselines;
    const count = (of: Suppressions, path: string) => of.get(path)?.rules.get(code) ?? 0;
    const key = suppressedPath(file, model.path);
    return count(after, key) - Math.max(count(before, key), count(before, this.#keyBefore(model, key)));
  }

  /** Of a model that was moved, where it was. */
  #keyBefore({ base }: ModelComparison, key: string): string {
    const { file, revision } = this.#baselines;
    const start = revision.named("");
    return base?.path.startsWith(start)
      ? suppressedPath(file, join(revision.root, base.path.slice(start.length)))
      : key;
  }
}

/** Places that are new or worse by path of the model and code: one counts once in however many scenarios. */
function newCounts(models: readonly ModelComparison[]): Map<string, Map<string, Set<string>>> {
  const places = new Map<string, Map<string, Set<string>>>();
  for (const { path, findings } of models) {
    const ofModel = places.get(path) ?? new Map<string, Set<string>>();
    places.set(path, ofModel);
    for (const { code, fingerprint } of freshOf(findings).filter(isCounted)) {
      const known = ofModel.get(code);
      if (known === undefined) ofModel.set(code, new Set([fingerprint]));
      else known.add(fingerprint);
    }
  }
  return places;
}

/** As the baseline itself: where more is found of a rule than counted, all of it is shown. */
function letOff(
  model: ModelComparison,
  added: Added,
  found: ReadonlyMap<string, ReadonlySet<string>>,
  shown: string,
): ModelComparison {
  const { findings } = model;
  const codes = new Set(
    [...found].filter(([code, { size }]) => size <= added.to(model, code)).map(([code]) => code),
  );
  const isLeft = (finding: Finding) => !(isCounted(finding) && codes.has(finding.code));
  const suppressed = freshOf(findings).filter((finding) => !isLeft(finding));
  if (suppressed.length === 0) return model;
  const message = `${counted(suppressed.length, "new finding")} let off by what the change adds to ${shown} (${[...codes].sort().join(", ")})`;
  return {
    ...model,
    findings: {
      ...findings,
      new: findings.new.filter(isLeft),
      worse: findings.worse.filter(isLeft),
      suppressed,
    },
    notices: [...model.notices, { code: "let-off", message }],
  };
}
