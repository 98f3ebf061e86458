/** @file The formats of `-f`, and where each report of a run goes. */
import { resolve } from "node:path";
import { InputError } from "../ir/errors.ts";
import { type LintFormat, lintFormatNames } from "../report/registry.ts";
import { parseChoice } from "../settings/values.ts";

export interface ReportRequest<Format extends string = LintFormat> {
  readonly format: Format;
  /** Undefined is stdout. */
  readonly path: string | undefined;
}

/** What `merge-reports` reads: no report for anybody else, so that it has no renderer. */
export const shardFormat = "blob";

export interface Requests {
  /** Undefined where nothing says what is wanted. */
  readonly reports: ReportRequest[] | undefined;
  /** The file for `merge-reports`. */
  readonly blob: string | undefined;
}

/** `-f json=report.json` and `-o PATH` to requests. Throws InputError. */
export function parseFormats(texts: readonly string[], output: string | undefined): Requests {
  const requests = parseFormatsOf([...lintFormatNames, shardFormat], texts, output, "text");
  const reports: ReportRequest[] = [];
  let blob: string | undefined;
  for (const { format, path } of requests ?? []) {
    if (format !== shardFormat) reports.push({ format, path });
    else if (path === undefined || blob !== undefined)
      throw new InputError("usage", `--format: ${shardFormat} goes to one file: -f ${shardFormat}=PATH`);
    else blob = path;
  }
  return { reports: requests === undefined ? undefined : reports, blob };
}

/** The same of other formats; `standard` is the one of `-o` alone. */
export function parseFormatsOf<Format extends string>(
  names: readonly Format[],
  texts: readonly string[],
  output: string | undefined,
  standard: Format,
): ReportRequest<Format>[] | undefined {
  const requests = texts.map((text) => parseFormat(text, names));
  if (output !== undefined) return [outputRequest(requests, output, standard)];
  if (requests.length === 0) return undefined;
  const onStdout: string[] = requests.filter(({ path }) => path === undefined).map(({ format }) => format);
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

function parseFormat<Format extends string>(text: string, names: readonly Format[]): ReportRequest<Format> {
  const at = text.indexOf("=");
  const name = at < 0 ? text : text.slice(0, at);
  const path = at < 0 ? undefined : text.slice(at + 1);
  const format = parseChoice(name, "--format", names);
  if (path === "")
    throw new InputError("usage", `--format: "${text}" names no file; expected ${format}=PATH`);
  return { format, path };
}

function outputRequest<Format extends string>(
  requests: readonly ReportRequest<Format>[],
  output: string,
  standard: Format,
): ReportRequest<Format> {
  const [request = { format: standard, path: undefined }, ...more] = requests;
  if (more.length > 0 || request.path !== undefined) {
    throw new InputError("usage", "-o: goes with one format; several are written -f json=PATH -f sarif=PATH");
  }
  return { ...request, path: output };
}

function checkDistinct(requests: readonly ReportRequest<string>[]): void {
  const paths = requests.flatMap(({ path }) => path ?? []);
  const places = paths.map((path) => resolve(path));
  const twice = paths.find((_, index) => places.indexOf(places[index] ?? "") < index);
  if (twice !== undefined)
    throw new InputError("usage", `--format: two reports cannot both be written to "${twice}"`);
}
