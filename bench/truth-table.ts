/** @file Whole files on one stack, predicted beside measured, as a table with its errors. */

export interface Judged {
  readonly model: string;
  /** Microseconds, measured and predicted. */
  readonly us: number;
  readonly microseconds: number;
  readonly ratio: number;
  readonly isInside: boolean;
}

/** The ratio is the measured time over the predicted one; the least first. */
export function truthTable(title: string, rows: readonly Judged[]): string[] {
  const errors = rows.map(({ ratio }) => Math.max(ratio, 1 / ratio) - 1).sort((a, b) => a - b);
  const at = (share: number) => (100 * (errors[Math.floor(share * errors.length)] ?? Number.NaN)).toFixed(1);
  const inside = rows.filter(({ isInside }) => isInside).length;
  const judged = rows.toSorted((a, b) => a.ratio - b.ratio);
  return [
    `## ${title}`,
    "",
    `${judged.length} files: median error ${at(0.5)} %, nine of ten within ${at(0.9)} %; ${inside} inside the interval.`,
    "",
    "| model | measured µs | predicted µs | ratio |",
    "|---|--:|--:|--:|",
    ...judged.map(
      ({ model, us, microseconds, ratio }) =>
        `| ${model} | ${us.toFixed(0)} | ${microseconds.toFixed(0)} | ${ratio.toFixed(2)} |`,
    ),
    "",
  ];
}
