/** @file The figures of a fit as the tables of docs/cost-model.md. */
import type { ErrorFigures, PairFigures } from "./report.ts";

export interface FiguresReport {
  readonly date: string;
  readonly samples: number;
  readonly families: Readonly<Record<string, ErrorFigures>>;
  readonly pairs: Readonly<Record<string, PairFigures>>;
}

const marks = ["<!-- figures: written by npm run fit -->", "<!-- end of figures -->"] as const;

/** `document` with its tables replaced. Throws where it lacks the marks. */
export function withFigures(document: string, report: FiguresReport): string {
  const [start, end] = marks.map((mark) => document.indexOf(mark));
  if (start === undefined || end === undefined || start < 0 || end < start) {
    throw new Error(`docs/cost-model.md lacks ${marks.join(" … ")}`);
  }
  return `${document.slice(0, start)}${marks[0]}\n\n${tables(report)}\n\n${document.slice(end)}`;
}

function tables({ date, samples, families, pairs }: FiguresReport): string {
  const rows = Object.entries(families).map(([name, each]) => {
    const { rows: count, meanError, medianError, p90Error, analyticMeanError, coverage } = each;
    return [name, count, meanError, medianError, p90Error, analyticMeanError, coverage];
  });
  const pairRows = Object.entries(pairs).map(([name, each]) => {
    const { pairs: count, medianSavingError, medianSpeedupError, changed, signRight, coverage } = each;
    return [name, count, medianSavingError, medianSpeedupError, changed, signRight, coverage];
  });
  return [
    `${samples} samples, fitted ${date}. Percent of the measured time:`,
    "",
    ...table(["rows", "count", "mean", "median", "P90", "mean, terms alone", "in the 90 % interval"], rows),
    "",
    "Pairs: points of the share saved (1 − after / before) and of the speed-up (before / after), medians; of the pairs whose",
    "measured change exceeds 5 %, percent with the sign right; percent of measured savings inside the interval.",
    "",
    ...table(
      ["pairs", "count", "saving", "speed-up", "changed", "sign right", "in the 90 % interval"],
      pairRows,
    ),
  ].join("\n");
}

function table(titles: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;
  return [line(titles), line(titles.map((_, column) => (column === 0 ? "---" : "--:"))), ...rows.map(line)];
}
