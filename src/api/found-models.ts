/** @file What a run found in each of its models, in all scenarios together, as tc-lint-suppressions.json counts it. */
import { maxOf } from "../ir/lists.ts";
import type { Finding, ModelReport } from "../lint/result.ts";
import type { LintOutcome } from "../settings/lint-plan.ts";

/** One model of a run, in all its scenarios. */
export interface FoundModel {
  readonly path: string;
  readonly key: string;
  /** Fingerprints by rule code. */
  readonly found: ReadonlyMap<string, ReadonlySet<string>>;
  /** By rule code: what is there and not listed, as it saves too little, or perhaps nothing, in all scenarios: no place is passed over, and some may count twice. */
  readonly unlisted: ReadonlyMap<string, number>;
  readonly at: readonly string[];
  readonly parameters: number;
  /** Whether it was linted to its end in each. */
  readonly isWhole: boolean;
}

/** What fails no run needs nobody to let it off. */
export function isCounted({ severity }: Pick<Finding, "severity">): boolean {
  return severity !== "info";
}

/** `keyOf`: what the file calls a model. */
export function foundModels(outcomes: readonly LintOutcome[], keyOf: (path: string) => string): FoundModel[] {
  const byPath = new Map<string, ModelReport[]>();
  for (const { report } of outcomes) {
    const before = byPath.get(report.path);
    if (before === undefined) byPath.set(report.path, [report]);
    else before.push(report);
  }
  return [...byPath].map(([path, reports]) => {
    const found = new Map<string, Set<string>>();
    for (const { code, fingerprint, ...finding } of reports.flatMap(({ findings }) => findings)) {
      if (!isCounted(finding)) continue;
      const fingerprints = found.get(code);
      if (fingerprints === undefined) found.set(code, new Set([fingerprint]));
      else fingerprints.add(fingerprint);
    }
    const at = [...new Set(reports.map(targetOf))];
    const isWhole = reports.every(({ error }) => error === null);
    const parameters = maxOf(reports.map((report) => report.parameters));
    return { path, key: keyOf(path), found, unlisted: unlistedOf(reports), at, parameters, isWhole };
  });
}

function unlistedOf(reports: readonly ModelReport[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { byRule = {} } of reports.flatMap((report) => [report.belowThreshold, report.uncertain])) {
    for (const [code, count] of Object.entries(byRule)) counts.set(code, (counts.get(code) ?? 0) + count);
  }
  return counts;
}

/** `h200/ort-cuda/fp16 batch=8`: the target, and the sizes that somebody gave. */
function targetOf({ target: { gpu, stack, precision }, symbols, assumed }: ModelReport): string {
  const left = new Set(assumed);
  const sizes = Object.entries(symbols).flatMap(([name, size]) => (left.has(name) ? [] : `${name}=${size}`));
  return [`${gpu}/${stack}/${precision}`, ...sizes.sort()].join(" ");
}
