/** @file How a step speaks to GitHub's runner: commands on stdout, and files that it names. */
import { randomUUID } from "node:crypto";
import { appendReportFile } from "../files/report-file.ts";
import { InputError } from "../ir/errors.ts";
import { plain } from "../ir/format.ts";
import { summaryBytes } from "../report/markdown-text.ts";
import type { OutputName } from "./inputs.ts";

export type Level = "error" | "warning" | "notice";

/** An annotation of the run, of no file. */
export function command(level: Level, message: string): string {
  const data = message
    .split("\n")
    .map(plain)
    .join("\n")
    .replaceAll("%", "%25")
    .replaceAll("\r", "%0D")
    .replaceAll("\n", "%0A");
  return `::${level} title=tc-lint::${data}\n`;
}

/** Text of a log in which nothing counts as a command, whatever a model is called. */
export function inert(text: string): string {
  const end = randomUUID();
  return text === ""
    ? ""
    : `::stop-commands::${end}\n${text.endsWith("\n") ? text : `${text}\n`}::${end}::\n`;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A path that the runner gives, or a fact that it states. Throws InputError. */
export function runnerVariable(env: Environment, name: string): string {
  const value = env[name];
  if (value !== undefined && value !== "") return value;
  throw new InputError("no-runner", `${name} is not set: this runs as a step of a GitHub workflow`);
}

/** Values may have lines; none of them can end the value, for nobody guesses the delimiter. */
export function setOutput(env: Environment, name: OutputName, value: string): void {
  const end = `tc-lint-${randomUUID()}`;
  appendReportFile(runnerVariable(env, "GITHUB_OUTPUT"), `${name}<<${end}\n${value}\n${end}\n`);
}

const tooLarge = "\nThe rest is too large for a summary: the reports that the step writes have everything.\n";

/** Parts as long as they fit: a summary that is refused says nothing at all. */
export function addSummary(env: Environment, parts: readonly string[]): void {
  const path = env["GITHUB_STEP_SUMMARY"] ?? "";
  if (path === "") return;
  let text = "";
  for (const part of parts) {
    const next = text === "" ? part : `${text}\n${part}`;
    if (Buffer.byteLength(next) + tooLarge.length > summaryBytes) {
      text += tooLarge;
      break;
    }
    text = next;
  }
  appendReportFile(path, text);
}
