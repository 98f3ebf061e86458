/** @file What is told first of what was found: a first screen has room for few, and annotations of a change are cut at some count. */

/** Of findings and of their groups. */
interface Ranked {
  readonly severity: "error" | "warn" | "info";
  readonly saves: { readonly microseconds: number } | null;
  readonly fixCommand: string | null;
  readonly setting?: object;
}

/**
 * Errors and what somebody can run, what saves most of them first; then warnings, then infos, that only an author can mend: neither is worth the place of what
 * fails a run or is one command away, whatever it saves.
 */
export function byImportance(a: Ranked, b: Ranked): number {
  return tierOf(a) - tierOf(b) || savedBy(b) - savedBy(a) || rank[a.severity] - rank[b.severity];
}

function tierOf({ severity, fixCommand, setting }: Ranked): number {
  return fixCommand !== null || setting !== undefined ? 0 : rank[severity];
}

/** An error whose point is not time is before all that is. */
function savedBy({ severity, saves }: Ranked): number {
  return saves?.microseconds ?? (severity === "error" ? Number.MAX_VALUE : 0);
}

const rank = { error: 0, warn: 1, info: 2 } as const satisfies Record<Ranked["severity"], number>;
