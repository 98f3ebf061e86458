/** @file What stdout has of a command that failed before its report: what CI asked for there, so that it need not parse stderr. */
import { inputErrorOf } from "../onnx/surroundings.ts";
import type { FailedRun } from "../report/failure.ts";
import { version } from "../version.ts";
import { hasWritten, StdoutError, writeStdout } from "./stdout.ts";

/** Whose report is lint's. */
const lintCommands: ReadonlySet<string | undefined> = new Set([undefined, "lint", "merge-reports"]);

/** Nothing where no such format goes to stdout, or something is there already. Throws StdoutError. */
export async function writeFailedRun(
  thrown: unknown,
  args: readonly string[],
  command: string | undefined,
): Promise<void> {
  if (thrown instanceof StdoutError || hasWritten()) return;
  const asked = formatOnStdout(args);
  if (asked === undefined) return;
  const { errorReport } = await import("../ir/error-report.ts");
  const { failureFormats } = await import("../report/failure.ts");
  const render = Object.entries(failureFormats).find(([format]) => format === asked)?.[1];
  const { code, message } = inputErrorOf(thrown) ?? bugOf(thrown);
  const named = args.filter((arg) => arg !== command && !arg.startsWith("-"));
  const file = named.find((arg) => message.startsWith(`${arg}: `)) ?? null;
  const run: FailedRun = {
    error: errorReport({ code, message }, file),
    version,
    isLint: lintCommands.has(command),
  };
  if (render !== undefined) await writeStdout(await render(run));
}

function bugOf(thrown: unknown) {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { code: "internal-error", message };
}

/** Read by hand: the arguments may be what is wrong. Undefined where none is asked for there, or several that cannot share it. */
function formatOnStdout(args: readonly string[]): string | undefined {
  const isToFile = args.some((arg) => /^(?:-o|--output)(?:$|=)/.test(arg));
  if (isToFile) return undefined;
  const values = args.flatMap((arg, index) => {
    if (arg === "-f" || arg === "--format") return args[index + 1] ?? [];
    return /^(?:-f|--format)=(.*)$/s.exec(arg)?.[1] ?? [];
  });
  const [first, ...others] = new Set(values.filter((value) => !value.includes("=") && value !== "text"));
  return others.length === 0 ? first : undefined;
}
