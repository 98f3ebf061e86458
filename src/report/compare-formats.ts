/** @file Every format of a comparison. */
import type { CompareReport } from "../compare/result.ts";
import type { CompareFormat } from "./compare-format-names.ts";
import { renderCompareMarkdown } from "./compare-markdown.ts";
import type { CompareOptions } from "./compare-prose.ts";
import { renderCompareText } from "./compare-text.ts";
import { jsonText } from "./json-text.ts";

export const compareFormats = {
  text: renderCompareText,
  json: (report) => jsonText(report),
  markdown: renderCompareMarkdown,
} as const satisfies Record<CompareFormat, (report: CompareReport, options: CompareOptions) => string>;
