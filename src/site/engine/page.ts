/** @file The HTML report, as `-f html` writes it, with what the page knows in the place of a repository. */
import { ruleDocs } from "../../../rules/docs.ts";
import { findGpu } from "../../hardware/gpus.ts";
import { findStack } from "../../hardware/stacks.ts";
import type { FixReportView } from "../../report/fix-view.ts";
import { renderFixHtml } from "../../report/html/page.ts";
import { homepage, pageOf as rulePage, version } from "../../version.ts";

/** The script of reports, which scripts/build-site.mjs builds and puts here. */
declare const TC_LINT_REPORT_SCRIPT: string;

export function pageOf(report: Omit<FixReportView, "tool">, files: readonly File[]): Blob {
  const bytes = new Map(files.map(({ name, size }) => [name, size]));
  const page = renderFixHtml(
    { tool: { name: "tc-lint", version }, ...report },
    {
      color: 0,
      verbose: false,
      stats: false,
      docs: ruleDocs,
      script: TC_LINT_REPORT_SCRIPT,
      localPath: () => undefined,
      repositoryPath: (path) => path,
      pages: { home: homepage, rule: rulePage },
      bytesOf: (path) => bytes.get(path),
      describeTarget: ({ gpu, stack }) =>
        `${findGpu(gpu)?.name ?? gpu} with ${findStack(stack)?.name ?? stack}`,
    },
  );
  return new Blob([page], { type: "text/html;charset=utf-8" });
}

export function jsonBlob(text: string): Blob {
  return new Blob([text], { type: "application/json" });
}
