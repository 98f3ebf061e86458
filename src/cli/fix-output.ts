/** @file Where a repair is reported: text beside the lint report, or JSON around it. */

import type { LintReport } from "../lint/result.ts";
import { jsonText } from "../report/json-text.ts";
import { type FixEntry, fixReportOf } from "./fix-report.ts";
import type { ReportRequest } from "./formats.ts";
import type { LintFlags } from "./options.ts";
import { writeReportFile } from "./output.ts";
import { writeStdout } from "./stdout.ts";
import { writeReports } from "./write-reports.ts";

/** Formats that people read: other text may stand above them. */
const prose: ReadonlySet<string> = new Set(["text", "github", "markdown"]);

/** Text on repairs: on stdout, unless a format for programs is there. */
export async function writeFixText(text: string, flags: LintFlags): Promise<void> {
  const onStdout = (flags.reports ?? []).filter(({ path }) => path === undefined);
  if (onStdout.every(({ format }) => prose.has(format))) await writeStdout(text);
  else if (onStdout.every(({ format }) => format !== "json")) process.stderr.write(text);
}

export function isJson({ format }: ReportRequest): boolean {
  return format === "json";
}

/** JSON reports hold the repairs with the lint report inside; all others are the lint report as ever. */
export async function writeFixReports(
  entries: readonly FixEntry[],
  lint: LintReport | undefined,
  flags: LintFlags,
): Promise<void> {
  const json = jsonText(fixReportOf(entries, lint));
  for (const { path } of (flags.reports ?? []).filter(isJson)) {
    if (path === undefined) await writeStdout(json);
    else writeReportFile(path, json);
  }
  if (lint === undefined) return;
  const reports = flags.reports?.filter((request) => !isJson(request));
  await writeReports(lint, { ...flags, reports });
}
