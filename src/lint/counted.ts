/** @file What is counted and not listed, added up. */
import type { CountedFindings, Finding, FindingGroup } from "./result.ts";

/** With `more` findings of a rule. */
export function countedOf(
  byRule: CountedFindings["byRule"],
  code: string,
  more: number,
): Readonly<Record<string, number>> {
  return { ...byRule, [code]: (byRule?.[code] ?? 0) + more };
}

/** With entries that were to be listed. */
export function withEntries(
  counted: CountedFindings,
  entries: readonly { readonly group: FindingGroup; readonly findings: readonly Finding[] }[],
): CountedFindings {
  const saved = entries.reduce((sum, { group }) => sum + Math.max(0, group.saves?.microseconds ?? 0), 0);
  const count = entries.reduce((sum, { findings }) => sum + findings.length, 0);
  const byRule = entries.reduce(
    (counts, { group, findings }) => countedOf(counts, group.code, findings.length),
    counted.byRule,
  );
  return {
    ...counted,
    count: counted.count + count,
    microseconds: counted.microseconds + saved,
    ...(byRule === undefined ? {} : { byRule }),
  };
}
