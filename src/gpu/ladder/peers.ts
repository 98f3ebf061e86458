/** @file What PyTorch takes for the work of a ladder, in the same run: peers.py, asked once for all of it. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { InputError } from "../../ir/errors.ts";
import { timerMilliseconds } from "../../ir/time.ts";
import { ladders } from "./ladders.ts";
import type { LadderReport } from "./report.ts";

/** Where the build puts it. */
const scriptUrl = new URL("../ladder-peers.py", import.meta.url);
const defaultTimeoutSeconds = 600;
/** Of what Python says before it ends. */
const longestTail = 500;

export interface PeerOptions {
  /** The program; undefined: as the PATH has it. */
  readonly python: string | undefined;
  /** CUDA's number of the GPU. */
  readonly device: number;
  readonly timeoutSeconds?: number | undefined;
  readonly script?: URL;
}

interface Answer {
  readonly missing?: string;
  readonly torch?: string;
  readonly rows?: readonly { readonly us?: number; readonly error?: string }[];
}

const places = ["python3", "python"];

/** Before anything is measured. Throws InputError `torch-missing`, or another `torch-…`. */
export async function checkPeers(options: PeerOptions): Promise<void> {
  await ask([], options);
}

/** The report with PyTorch's times; `onNotice` is told of work that PyTorch could not do. What was measured is never lost. */
export async function withPeers(
  report: LadderReport,
  options: PeerOptions,
  onNotice: (message: string) => void,
): Promise<LadderReport> {
  const peers = report.works.map(({ ladder, work }) => {
    const peer = ladders[ladder].find(({ title }) => title === work)?.peer;
    if (peer === undefined) throw new Error(`tc-lint bug: no work "${work}" in ladder ${ladder}`);
    return peer;
  });
  let answer: Answer;
  try {
    answer = await ask(
      peers.map(({ operation }) => operation),
      options,
    );
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    onNotice(error.message);
    return report;
  }
  const { torch, rows = [] } = answer;
  const works = report.works.map((work, at) => {
    const { us, error } = rows[at] ?? {};
    if (us === undefined) onNotice(`${work.peer.name}, ${work.work}: ${error ?? "no answer"}`);
    return { ...work, peer: { ...work.peer, microseconds: us } };
  });
  return { ...report, torch, works };
}

async function ask(operations: readonly object[], options: PeerOptions): Promise<Answer> {
  for (const program of options.python === undefined ? places : [options.python]) {
    const run = await runPython(program, JSON.stringify(operations), options);
    if (run === undefined) continue;
    const answer = answerOf(run, program);
    if (answer.missing === undefined) return answer;
    throw new InputError(
      "torch-missing",
      `${program} has no PyTorch to compare with: ${answer.missing}; --python names another one`,
    );
  }
  const looked =
    options.python === undefined ? "no python3 or python is on the PATH" : `there is no ${options.python}`;
  throw new InputError("torch-missing", `${looked}: --torch needs one that has PyTorch; --python names it`);
}

interface PythonRun {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
  readonly isLate: boolean;
}

function answerOf({ code, output, errors, isLate }: PythonRun, program: string): Answer {
  if (isLate)
    throw new InputError("torch-hang", "PyTorch was stopped at the limit: it needs a longer --timeout");
  const said = `${program} ended with ${code}: ${errors.trim().slice(-longestTail)}`;
  if (code !== 0) throw new InputError("torch-failed", said);
  try {
    return JSON.parse(output);
  } catch (cause) {
    throw new InputError("torch-failed", `${said} ${output.trim().slice(-longestTail)}`, { cause });
  }
}

/** Undefined where there is no such program. */
function runPython(program: string, input: string, options: PeerOptions): Promise<PythonRun | undefined> {
  const { device, timeoutSeconds = defaultTimeoutSeconds, script = scriptUrl } = options;
  return new Promise((done, reject) => {
    const child = spawn(program, [fileURLToPath(script), String(device)]);
    let [output, errors, isLate] = ["", "", false];
    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, timerMilliseconds(timeoutSeconds));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
    });
    child.once("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      if (error.code === "ENOENT") done(undefined);
      else reject(error);
    });
    child.once("close", (code) => {
      clearTimeout(timer);
      done({ code, output, errors, isLate });
    });
    // Who ends before it has read all says why.
    child.stdin.once("error", () => undefined);
    child.stdin.end(input);
  });
}
