/** @file Rules and their pages in the terminal. */
import { ruleDocs } from "../../rules/docs.ts";
import { InputError } from "../ir/errors.ts";
import { type Palette, paletteOf } from "../report/color.ts";
import type { RuleDoc } from "../report/render.ts";
import { alignColumns } from "../report/table.ts";
import { suggestion } from "../settings/closest.ts";
import { colorLevel } from "./color.ts";
import { writeStdout } from "./stdout.ts";

export interface ExplainOptions {
  /** Undefined lists all of them. */
  readonly rule: string | undefined;
  readonly format: "text" | "json";
  readonly color: boolean | undefined;
}

export async function explain({ rule, format, color }: ExplainOptions): Promise<void> {
  const docs = rule === undefined ? ruleDocs : [findDoc(rule)];
  if (format === "json") {
    const value = rule === undefined ? docs : docs[0];
    return writeStdout(`${JSON.stringify(value, undefined, 2)}\n`);
  }
  const isTerminal = process.stdout.isTTY === true;
  const palette = paletteOf(colorLevel({ flag: color, env: process.env, isTerminal }));
  return writeStdout(rule === undefined ? list(docs) : docs.map((doc) => page(doc, palette)).join("\n"));
}

function findDoc(rule: string): RuleDoc {
  const doc = ruleDocs.find(({ code, name }) => code === rule.toUpperCase() || name === rule.toLowerCase());
  if (doc !== undefined) return doc;
  const names = ruleDocs.flatMap(({ code, name }) => [code, name]);
  throw new InputError(
    "unknown-rule",
    `explain: "${rule}" is no rule${suggestion(rule, names)} (tc-lint explain lists them)`,
  );
}

const fixText = { safe: "--fix", unsafe: "--fix --unsafe-fixes", none: "" } as const;

function list(docs: readonly RuleDoc[]): string {
  const rows = docs.map(({ code, name, severity, fix, summary }) => [
    code,
    name,
    severity,
    fixText[fix],
    summary,
  ]);
  const lines = alignColumns(
    [["code", "name", "severity", "fixed by", "flags"], ...rows],
    ["left", "left", "left", "left", "left"],
  );
  return `${lines.join("\n")}\n\ntc-lint explain CODE says more.\n`;
}

function page({ code, name, severity, fix, markdown }: RuleDoc, palette: Palette): string {
  const fixed = fix === "none" ? "no automatic fix" : `fixed by ${fixText[fix]}`;
  const facts = `${severity} by default; ${fixed}`;
  return `${palette.heading(`${code} ${name}`)}\n${palette.dim(facts)}\n\n${styled(markdown, palette)}\n`;
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
