/** @file Rules and their pages in the terminal. */

import { fixFlags } from "../ir/fix-command.ts";
import { type Palette, paletteOf } from "./color.ts";
import type { ColorLevel, RuleDoc } from "./render.ts";
import { ruleTitle } from "./rule-title.ts";
import { alignColumns } from "./table.ts";

/** A line a rule. */
export function renderRuleList(docs: readonly RuleDoc[]): string {
  const rows = docs.map(({ code, name, severity, fix, changes, summary }) => [
    code,
    code === name ? "" : name,
    severity,
    fixFlags(fix, changes ?? "layout").join(" "),
    summary,
  ]);
  const lines = alignColumns(
    [["code", "name", "severity", "fixed by", "what it does"], ...rows],
    ["left", "left", "left", "left", "left"],
  );
  return `${lines.join("\n")}\n\ntc-lint explain CODE says more.\n`;
}

export function renderRulePage(
  { code, name, severity, fix, changes, markdown }: RuleDoc,
  color: ColorLevel,
): string {
  const palette = paletteOf(color);
  const fixed =
    fix === "none" ? "no automatic fix" : `fixed by ${fixFlags(fix, changes ?? "layout").join(" ")}`;
  const facts = `${severity} by default; ${fixed}`;
  return `${palette.heading(ruleTitle(code, name))}\n${palette.dim(facts)}\n\n${styled(markdown, palette)}\n`;
}

/** Headings, code and emphasis; everything else stays as it is written. */
function styled(markdown: string, palette: Palette): string {
  let inBlock = false;
  const lines = markdown
    .trim()
    .split("\n")
    .map((line) => {
      if (/^\s*```/.test(line)) {
        inBlock = !inBlock;
        return undefined;
      }
      if (inBlock) return `    ${palette.code(line)}`;
      const heading = /^#+\s+(.*)$/.exec(line);
      if (heading !== null) return palette.bold(heading[1] ?? "");
      return line.replaceAll(/`([^`]+)`/g, (_, code: string) => palette.code(code));
    });
  return lines.filter((line) => line !== undefined).join("\n");
}
