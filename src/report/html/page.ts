/** @file The report as one page: no other file, no network; what it may run is its own script, by its hash. */
import { createHash } from "node:crypto";
import { counted } from "../../ir/format.ts";
import type { LintReport } from "../../lint/result.ts";
import type { FixReportView } from "../fix-view.ts";
import type { RenderOptions } from "../render.ts";
import { fixableBy } from "../summary.ts";
import { fixesMarkup } from "./fixes.ts";
import { html, type Markup, trusted } from "./markup.ts";
import { modelsMarkup } from "./models.ts";
import { rulePages } from "./rule-page.ts";
import { style } from "./style.ts";

/** Of a lint. */
export function renderHtml(report: LintReport, options: RenderOptions): string {
  return pageOf({ tool: report.tool, fixes: [], lint: report }, options);
}

/** Of repairs, and of what is found in their results where these were linted. */
export function renderFixHtml(report: FixReportView, options: RenderOptions): string {
  return pageOf(report, options);
}

function pageOf({ tool, fixes, lint = null }: FixReportView, options: RenderOptions): string {
  const names = [...new Set([...(lint?.models ?? []), ...fixes].map(({ path }) => path))];
  const title = names.length === 1 ? `${names[0]} · tc-lint` : `${counted(names.length, "model")} · tc-lint`;
  const found = new Set(
    lint?.models.flatMap(({ groups, unlisted }) =>
      [...groups, ...(unlisted?.groups ?? [])].map(({ code }) => code),
    ),
  );
  const docs = options.docs.filter(({ code }) => found.has(code));
  const { script } = options;
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${trusted(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title><style>${trusted(style)}</style></head>
<body><a class="skip" href="#main">Skip to the report</a>
<header><div class="bar"><h1>tc-lint <span class="dim">${tool.version}</span></h1>${lint === null ? "" : summaryMarkup(lint, options.quiet)}<button type="button" id="theme" aria-pressed="false">Dark</button></div></header>
<main id="main">${fixesMarkup(fixes)}${lint === null ? "" : modelsMarkup(lint.models, { ...options, docs })}${rulePages(docs)}</main>
<footer><p>tc-lint ${tool.version}. Times are predictions unless they are said to be measured; intervals hold in nine cases of ten.</p></footer>
<script>${trusted(script)}</script></body></html>
`;
  return page.text;
}

function summaryMarkup(report: LintReport, quiet: boolean | undefined): Markup {
  const { errors, warnings, infos, fixable, failedModels, budgetsExceeded: exceeded } = report.summary;
  const others = [
    ["warn", warnings, counted(warnings, "warning")],
    ["info", infos, counted(infos, "info")],
  ] as const;
  const chips = [["error", errors, counted(errors, "error")] as const, ...(quiet === true ? [] : others)];
  const rest = [
    exceeded > 0 ? `${counted(exceeded, "budget")} exceeded` : "",
    fixable > 0 ? `${fixable} fixable with ${fixableBy(report)}` : "",
    failedModels > 0 ? `${counted(failedModels, "model")} failed` : "",
  ].filter((part) => part !== "");
  return html`<div class="summary">${chips.map(([kind, count, text]) => html`<span class="chip ${count === 0 ? "none" : kind}">${text}</span> `)}<span class="dim">${rest.join(", ")}</span></div>`;
}
