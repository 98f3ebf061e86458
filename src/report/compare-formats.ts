/** @file Every format of a comparison. */
import type { CompareReport } from "../compare/result.ts";
import { renderCompareMarkdown } from "./compare-markdown.ts";
import type { CompareOptions } from "./compare-prose.ts";
import { renderCompareText } from "./compare-text.ts";
import { jsonText } from "./json-text.ts";

export const compareFormats = {
  text: renderCompareText,
  json: (report) => jsonText(report),
  markdown: renderCompareMarkdown,
} as const satisfies Record<string, (report: CompareReport, options: CompareOptions) => string>;

export type CompareFormat = keyof typeof compareFormats;

export const compareFormatNames = Object.keys(compareFormats) as readonly CompareFormat[];
