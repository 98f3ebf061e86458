/** @file What node tests came to, as text. */
import type { Status, TestResult } from "./node-tests-run.ts";

export type Results = ReadonlyMap<string, TestResult>;

export type Summary = Record<Status, number> & {
  readonly total: number;
  /** Of the tests that are not skipped, the share that passes (or is planned), in percent. */
  readonly percent: number;
};

export function summaryOf(results: Results): Summary {
  const counts: Record<Status, number> = {
    passed: 0,
    wrong: 0,
    unsupported: 0,
    skipped: 0,
    fault: 0,
    bug: 0,
    planned: 0,
  };
  for (const { status } of results.values()) counts[status]++;
  const numeric = results.size - counts.skipped;
  const done = counts.passed + counts.planned;
  return {
    ...counts,
    total: results.size,
    percent: numeric === 0 ? 0 : Math.round((1000 * done) / numeric) / 10,
  };
}

export function reportText(title: string, results: Results, isVerbose: boolean): string {
  const lines = [`== ${title}`];
  for (const status of ["wrong", "fault", "bug"] as const) {
    for (const [name, { reason }] of withStatus(results, status)) {
      const shown = isVerbose ? reason : reason.split("\n").slice(0, 3).join(" | ");
      lines.push(`${status.toUpperCase()} ${name}: ${shown}`);
    }
  }
  lines.push(...unsupportedLines(results, isVerbose));
  const counts = summaryOf(results);
  const skipped = countBy(withStatus(results, "skipped"), ([, { reason }]) => reason);
  const why = [...skipped].map(([reason, count]) => `${reason} ${count}`).join(", ");
  lines.push(
    `${title}: ${counts.total} tests: ${counts.passed + counts.planned} ${counts.planned > 0 ? "planned" : "passed"}, ${counts.wrong} wrong, ${counts.fault} faults, ${counts.bug} bugs, ` +
      `${counts.unsupported} unsupported, ${counts.skipped} skipped (${why}); ${counts.percent} % of those not skipped`,
  );
  return `${lines.join("\n")}\n`;
}

function withStatus(results: Results, status: Status): (readonly [string, TestResult])[] {
  return [...results].filter(([, result]) => result.status === status);
}

/** By operator, the most frequent first, each with its reasons. */
function unsupportedLines(results: Results, isVerbose: boolean): string[] {
  const tests = withStatus(results, "unsupported");
  const operators = [...countBy(tests, ([, { operator }]) => operator)].sort(([, a], [, b]) => b - a);
  return operators.flatMap(([operator, count]) => {
    const own = tests.filter(([, result]) => result.operator === operator);
    const reasons = [...countBy(own, ([, { reason }]) => shortened(reason))];
    const head = `unsupported ${operator}: ${count}`;
    const shown = reasons.slice(0, isVerbose ? reasons.length : 3);
    return [
      head,
      ...shown.map(([reason, times]) => `    ${times} × ${reason}`),
      ...(isVerbose ? own.map(([name]) => `      ${name}`) : []),
    ];
  });
}

/** Without the names that differ from test to test. */
function shortened(reason: string): string {
  return reason.replace(/^[^:]*\([^)]*\)[^:]*: /, "").slice(0, 160);
}

function countBy<Item>(items: Iterable<Item>, keyOf: (item: Item) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}
