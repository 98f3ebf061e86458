/** @file A comparison as the one comment that a pull request has: whether there is to be one, and what it says. */
import type { CompareReport } from "../compare/result.ts";
import { renderCompareMarkdown } from "./compare-markdown.ts";
import { type CompareOptions, movedTexts, quietText } from "./compare-prose.ts";
import { code, commentBytes } from "./markdown-text.ts";

export interface CommentOptions extends Pick<CompareOptions, "describeTarget"> {
  /** The commit that was looked at; empty where nobody says. */
  readonly head: string;
  /** Address of the run, of who runs it; empty where it has none. */
  readonly run: string;
}

/**
 * Something moved: a comment. Models differ, and nothing moved beyond its interval: a folded line where a comment said otherwise before,
 * and no comment of its own, for nobody reads one that says nothing. No model differs: none. Without the mark that it is found by.
 */
export type WantedComment =
  | { readonly kind: "comment" | "where-there"; readonly body: string }
  | { readonly kind: "none" };

export function wantedComment(report: CompareReport, options: CommentOptions): WantedComment {
  if (movedTexts(report).length > 0) return { kind: "comment", body: bodyOf(report, options) };
  if (report.models.every(({ status }) => status !== "changed")) return { kind: "none" };
  const title = `tc-lint: ${quietText(report)}`;
  const body = `<details><summary>${title}</summary>\n\n${bodyOf(report, options)}\n</details>\n`;
  return { kind: "where-there", body };
}

function bodyOf(report: CompareReport, options: CommentOptions): string {
  const text = renderCompareMarkdown(report, { ...options, color: 0, verbose: false });
  const whole = Buffer.byteLength(text) > commentBytes ? firstOf(text) : text;
  return `${whole}\n${footerOf(options)}`;
}

/** Names as long as paths get leave room for nothing else. */
function firstOf(text: string): string {
  const [first = ""] = text.split("\n");
  const cut = Buffer.byteLength(first) > commentBytes ? "**Too much to say here.**" : first;
  return `${cut}\n\nThe rest is too large for a comment: \`tc-lint compare -f json\` has everything.\n`;
}

function footerOf({ head, run }: CommentOptions): string {
  const parts = [
    "Times are predicted, not measured",
    ...(head === "" ? [] : [`commit ${code(head.slice(0, 12))}`]),
    ...(run === "" ? [] : [`[the run](${run}) has the rest`]),
  ];
  return `<sub>${parts.join("; ")}.</sub>\n`;
}
