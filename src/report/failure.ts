/** @file A run that came to nothing, in the formats that CI reads on stdout. Without it a mistake in a flag leaves whoever parses them with nothing. */
import { printable } from "../ir/format.ts";
import type { ErrorReport } from "../lint/result.ts";
import type { Diagnostic } from "./diagnostics.ts";
import { jsonText } from "./json-text.ts";
import { xmlText } from "./xml.ts";

/** Of a command that ended before it had a report. */
export interface FailedRun {
  readonly error: ErrorReport;
  readonly version: string;
  /** Whether its report would have been lint's: then what every such report has is there, empty. */
  readonly isLint: boolean;
}

const nothing = { errors: 0, warnings: 0, infos: 0, fixable: 0, failedModels: 0, budgetsExceeded: 0 };

function asJson({ error, version, isLint }: FailedRun): string {
  const tool = { name: "tc-lint", version } as const;
  const errors = [error];
  return jsonText(
    isLint ? { version: 1, tool, models: [], errors, summary: nothing } : { version: 1, tool, errors },
  );
}

function asSarif({ error, version }: FailedRun): string {
  const { code, message } = error;
  const notification = { level: "error", descriptor: { id: code }, message: { text: printable(message) } };
  const run = {
    tool: { driver: { name: "tc-lint", version, semanticVersion: version } },
    invocations: [{ executionSuccessful: false, toolConfigurationNotifications: [notification] }],
    results: [],
  };
  const schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
  return jsonText({ $schema: schema, version: "2.1.0", runs: [run] });
}

function asJunit({ error: { code, message, file } }: FailedRun): string {
  const counts = { tests: 1, failures: 0, errors: 1 };
  const suite = file ?? "tc-lint";
  const place = file === null ? {} : { file };
  const error = { name: "error", attributes: { message: printable(message), type: code } };
  const testcase = {
    name: "testcase",
    attributes: { name: code, classname: suite, ...place },
    children: [error],
  };
  const only = {
    name: "testsuite",
    attributes: { name: suite, ...counts, skipped: 0 },
    children: [testcase],
  };
  return xmlText({ name: "testsuites", attributes: { name: "tc-lint", ...counts }, children: [only] });
}

/** Workflow commands escape what ends them. */
function asGithub({ error: { code, message } }: FailedRun): string {
  const text = printable(message).replaceAll("%", "%25");
  return `::error title=tc-lint ${code}::${text}\n`;
}

/** Of code quality tools, whose issues are of a file: the one at fault, or the tool where none is. */
async function diagnosticOf({ error }: FailedRun): Promise<Diagnostic> {
  const { failureAt } = await import("./diagnostics.ts");
  return failureAt(error, error.file ?? "tc-lint");
}

async function asGitlab(run: FailedRun): Promise<string> {
  return (await import("./gitlab.ts")).gitlabText([await diagnosticOf(run)]);
}

async function asCheckstyle(run: FailedRun): Promise<string> {
  const diagnostic = await diagnosticOf(run);
  return (await import("./checkstyle.ts")).checkstyleText([[diagnostic.place.file, [diagnostic]]]);
}

async function asRdjson(run: FailedRun): Promise<string> {
  return (await import("./rdjson.ts")).rdjsonText([await diagnosticOf(run)]);
}

/** A line, as of a model that failed. */
function asAgent({ error: { code, message, file } }: FailedRun): string {
  return `${printable(file ?? "tc-lint")}: failed ${printable(code)}: ${printable(message)}\n`;
}

/** Others have no place for a run that came to nothing, or are read by people, who have stderr. */
export const failureFormats = {
  json: asJson,
  sarif: asSarif,
  junit: asJunit,
  github: asGithub,
  gitlab: asGitlab,
  checkstyle: asCheckstyle,
  rdjson: asRdjson,
  agent: asAgent,
} as const satisfies Record<string, (run: FailedRun) => string | Promise<string>>;
