/** @file A finding in a sentence, and the place that CI shows it at: what formats for machines say alike. */
import { printable } from "../ir/format.ts";
import type { Finding } from "../lint/result.ts";
import type { RenderOptions } from "./render.ts";
import { savedText } from "./share.ts";

/** `/head/MatMul (MatMul) in head: N is 50257 …. Saves 1.96 ms (63 %). Fix: --fix.`; `quote` makes text of the format of what a model says. */
export function sentenceOf(finding: Finding, quote: (text: string) => string = printable): string {
  const { node, op, message, saves, module } = finding;
  const saving = saves === null ? "" : ` Saves ${savedText(saves)}.`;
  const where = module === null ? "" : ` in ${quote(module)}`;
  return `${quote(node)} (${quote(op)})${where}: ${quote(message)}${/[.!?]$/.test(message) ? "" : "."}${saving}${fixSentence([finding])}`;
}

/** Commands that findings name, each once. */
export function commandsOf(findings: readonly Pick<Finding, "fixCommand">[]): string {
  return [...new Set(findings.flatMap(({ fixCommand }) => fixCommand ?? []))].join("; ");
}

/** ` Fix: --fix --unsafe-fixes.`; empty where no command is named. */
export function fixSentence(findings: readonly Pick<Finding, "fixCommand">[]): string {
  const commands = commandsOf(findings);
  return commands === "" ? "" : ` Fix: ${commands}.`;
}

export interface Place {
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

/** A line of Python that made the layer, where it is part of this checkout; else the model's first line. */
export function placeOf(
  { source }: Finding,
  path: string,
  { localPath, repositoryPath }: Pick<RenderOptions, "localPath" | "repositoryPath">,
): Place {
  const file = source === null ? undefined : localPath(source.file);
  return file === undefined || source === null
    ? { file: repositoryPath(path), line: 1 }
    : { file, line: Math.max(1, source.line) };
}
