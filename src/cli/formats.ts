/** @file The formats of `-f`, and where each report of a run goes. */
import { resolve } from "node:path";
import { InputError } from "../ir/errors.ts";
import { renderCsv } from "../report/csv.ts";
import { renderGithub } from "../report/github.ts";
import { renderJson } from "../report/json.ts";
import { renderMarkdown } from "../report/markdown.ts";
import type { Renderer } from "../report/render.ts";
import { renderSarif } from "../report/sarif.ts";
import { renderText } from "../report/text.ts";
import { parseChoice } from "../settings/values.ts";

export const renderers = {
  text: renderText,
  json: renderJson,
  sarif: renderSarif,
  github: renderGithub,
  markdown: renderMarkdown,
  csv: renderCsv,
} as const satisfies Record<string, Renderer>;

export type Format = keyof typeof renderers;

export const formatNames = Object.keys(renderers) as readonly Format[];

/** Which of them name the configuration of a model; where no report of a run does, a line on stderr does. */
export const namesConfiguration = {
  text: true,
  json: true,
  sarif: true,
  markdown: true,
  github: false,
  csv: false,
} as const satisfies Record<Format, boolean>;

export interface ReportRequest {
  readonly format: Format;
  /** Undefined is stdout. */
  readonly path: string | undefined;
}

/** `-f json=report.json` and `-o PATH` to requests; undefined where neither is given. Throws InputError. */
export function parseFormats(
  texts: readonly string[],
  output: string | undefined,
): ReportRequest[] | undefined {
  const requests = texts.map(parseFormat);
  if (output !== undefined) return [outputRequest(requests, output)];
  if (requests.length === 0) return undefined;
  const onStdout = requests.filter(({ path }) => path === undefined).map(({ format }) => format);
  // Annotations are lines of their own, made to stand among other text.
  const clash = onStdout.filter((format) => format !== "github" || !onStdout.includes("text"));
  if (clash.length > 1) {
    const example = `-f ${clash[0]} -f ${clash[1]}=PATH`;
    throw new InputError(
      "usage",
      `--format: ${clash.join(" and ")} cannot share stdout; give one a file: ${example}`,
    );
  }
  checkDistinct(requests);
  return requests;
}

function parseFormat(text: string): ReportRequest {
  const at = text.indexOf("=");
  const name = at < 0 ? text : text.slice(0, at);
  const path = at < 0 ? undefined : text.slice(at + 1);
  const format = parseChoice(name, "--format", formatNames);
  if (path === "")
    throw new InputError("usage", `--format: "${text}" names no file; expected ${format}=PATH`);
  return { format, path };
}

function outputRequest(requests: readonly ReportRequest[], output: string): ReportRequest {
  const [request = { format: "text", path: undefined } as const, ...more] = requests;
  if (more.length > 0 || request.path !== undefined) {
    throw new InputError("usage", "-o: goes with one format; several are written -f json=PATH -f sarif=PATH");
  }
  return { ...request, path: output };
}

function checkDistinct(requests: readonly ReportRequest[]): void {
  const paths = requests.flatMap(({ path }) => path ?? []);
  const places = paths.map((path) => resolve(path));
  const twice = paths.find((_, index) => places.indexOf(places[index] ?? "") < index);
  if (twice !== undefined)
    throw new InputError("usage", `--format: two reports cannot both be written to "${twice}"`);
}
