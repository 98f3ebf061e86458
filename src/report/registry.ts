/** @file What commands report, and every format that each report has: a format is rows of this file and the file that writes it. */
import type { BenchReport } from "../gpu/bench-report.ts";
import type { CaseReport } from "../gpu/case/report.ts";
import type { CountersReport } from "../gpu/counters/report.ts";
import type { DecodeReport } from "../gpu/decode/report.ts";
import type { LadderReport } from "../gpu/ladder/report.ts";
import type { PlanReport } from "../gpu/plan-report.ts";
import type { ValidateReport } from "../gpu/validate/report.ts";
import type { LintReport } from "../lint/result.ts";
import type { VerifyReport } from "../verify/index.ts";
import type { RunText } from "./bench-text.ts";
import type { FixReportView } from "./fix-view.ts";
import { renderJson } from "./json.ts";
import { jsonText } from "./json-text.ts";
import type { Renderer, RenderOptions } from "./render.ts";
import { renderText } from "./text.ts";

/** Of `tc-lint lint`; a fix stands beside it as text, or around it as JSON. All but these two are loaded where they are asked for. */
export const lintFormats = {
  text: renderText,
  json: renderJson,
  sarif: async (report, options) => (await import("./sarif.ts")).renderSarif(report, options),
  github: async (report, options) => (await import("./github.ts")).renderGithub(report, options),
  gitlab: async (report, options) => (await import("./gitlab.ts")).renderGitlab(report, options),
  junit: async (report, options) => (await import("./junit.ts")).renderJunit(report, options),
  checkstyle: async (report, options) => (await import("./checkstyle.ts")).renderCheckstyle(report, options),
  rdjson: async (report, options) => (await import("./rdjson.ts")).renderRdjson(report, options),
  markdown: async (report, options) => (await import("./markdown.ts")).renderMarkdown(report, options),
  csv: async (report) => (await import("./csv.ts")).renderCsv(report),
  agent: async (report, options) => (await import("./agent.ts")).renderAgent(report, options),
  html: async (report, options) => (await import("./html/page.ts")).renderHtml(report, options),
} as const satisfies Record<string, Renderer>;

/** What a repair changes, for runs that lint nothing after it: `--diff` and `--fix-only`. JSON and text are apart. */
export const fixFormats: Partial<
  Record<LintFormat, (report: FixReportView, options: RenderOptions) => string | Promise<string>>
> = {
  sarif: async (report, options) => (await import("./fix-sarif.ts")).renderFixSarif(report, options),
  markdown: async (report) => (await import("./fix-markdown.ts")).renderFixMarkdown(report),
  csv: async (report) => (await import("./fix-csv.ts")).renderFixCsv(report),
  html: async (report, options) => (await import("./html/page.ts")).renderFixHtml(report, options),
};

/** Formats that hold repairs and the lint report of what came of them together. JSON is apart. */
export const wholeFormats: ReadonlySet<LintFormat> = new Set(["html"]);

export type LintFormat = keyof typeof lintFormats;

export const lintFormatNames = Object.keys(lintFormats) as readonly LintFormat[];

/** Which of them name the configuration of a model; where no report of a run does, a line on stderr does. */
export const namesConfiguration = {
  text: true,
  json: true,
  sarif: true,
  markdown: true,
  github: false,
  gitlab: false,
  junit: false,
  checkstyle: false,
  rdjson: false,
  csv: false,
  agent: false,
  html: true,
} as const satisfies Record<LintFormat, boolean>;

/** Formats that say nothing of a model that failed; where all reports on stdout are such, a line on stderr does. */
export const silentFormats: ReadonlySet<LintFormat> = new Set(["csv"]);

/** Formats that list every layer, whether or not --table asks for them. */
export const layerFormats: ReadonlySet<LintFormat> = new Set(["csv", "html"]);

/** Formats that draw: the graph around findings, and what the target could reach. They have a script, too. */
export const drawnFormats: ReadonlySet<LintFormat> = new Set(["html"]);

/**
 * What a format shows of a report: without --table, no layers that another format of the run lists. JSON has all that a page beside it
 * has (docs/html-report.md).
 */
export function reportFor(
  format: LintFormat,
  report: LintReport,
  { table }: { readonly table: boolean },
): LintReport {
  if (table || format === "json" || layerFormats.has(format)) return report;
  return { ...report, models: report.models.map(({ layers: _, ...model }) => model) };
}

/** Formats that carry the rules' documentation, which is loaded for them alone. */
export const docFormats: ReadonlySet<LintFormat> = new Set(["sarif", "rdjson", "html"]);

/** Formats that people read: other text may stand above them. */
export const proseFormats: ReadonlySet<LintFormat> = new Set(["text", "github", "markdown"]);

/** Reports of one run, by the command that makes them. */
export interface RunReports {
  readonly verify: VerifyReport;
  readonly validate: ValidateReport;
  /** Of `validate --decode`. */
  readonly decode: DecodeReport;
  readonly bench: BenchReport;
  /** Of `bench --ncu`. */
  readonly counters: CountersReport;
  /** Of `bench --case`. */
  readonly case: CaseReport;
  /** Of `bench --ladder`. */
  readonly ladder: LadderReport;
  /** Of `bench --plan`: one a model. */
  readonly plan: readonly PlanReport[];
}

export type RunFormat = "text" | "json";

type Texts = {
  readonly [Kind in keyof RunReports]: (report: RunReports[Kind], options: RunText) => Promise<string>;
};

const texts: Texts = {
  verify: async (report, { color }) => (await import("./verify-text.ts")).renderVerifyText(report, color),
  validate: async (report, { color }) =>
    (await import("./validate-text.ts")).renderValidateText(report, color),
  decode: async (report, { color }) => (await import("./decode-text.ts")).renderDecodeText(report, color),
  bench: async (report, options) => (await import("./bench-text.ts")).renderBenchText(report, options),
  counters: async (report, options) =>
    (await import("./counters-text.ts")).renderCountersText(report, options),
  case: async (report, { color }) => (await import("./case-text.ts")).renderCaseText(report, color),
  ladder: async (report, { color }) => (await import("./ladder-text.ts")).renderLadderText(report, color),
  plan: async (plans, options) => {
    const { renderPlanText } = await import("./bench-text.ts");
    return plans.map((plan) => renderPlanText(plan, options)).join("\n");
  },
};

export const runFormatNames = ["text", "json"] as const satisfies readonly RunFormat[];

export function renderRun<Kind extends keyof RunReports>(
  kind: Kind,
  report: RunReports[Kind],
  format: RunFormat,
  options: RunText,
): Promise<string> {
  const formats: Readonly<Record<RunFormat, () => Promise<string>>> = {
    text: () => texts[kind](report, options),
    json: async () => jsonText(report),
  };
  return formats[format]();
}
