/** @file GitHub's runner, as far as a step sees it: a checkout, a payload, files for what the step says, and its token's server. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type InputName, inputs as inputNames } from "../../src/action/inputs.ts";
import { leastEnvironment } from "../cli-process.ts";

export interface StepRun {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Of stdout, the annotations: not what stands where commands are stopped. */
  readonly annotations: readonly string[];
  readonly summary: string;
  readonly outputs: Readonly<Record<string, string>>;
}

export interface StepOptions {
  /** dist/action/index.js of a build. */
  readonly script: string;
  readonly workspace: string;
  /** The runner's own folder. */
  readonly temporary: string;
  readonly event: string;
  readonly payload: unknown;
  readonly inputs: Readonly<Partial<Record<InputName, string>>>;
  readonly api: string;
  readonly sha?: string;
  /** More of the step's environment. */
  readonly env?: Readonly<Record<string, string>>;
}

let runs = 0;

export async function runStep(options: StepOptions): Promise<StepRun> {
  const { workspace, temporary, event, payload, inputs, api, sha = "" } = options;
  runs += 1;
  const folder = path.join(temporary, `run-${runs}`);
  mkdirSync(folder, { recursive: true });
  const file = (name: string) => path.join(folder, name);
  writeFileSync(file("event.json"), JSON.stringify(payload));
  for (const name of ["output", "summary"]) writeFileSync(file(name), "");
  const given = { ...inputNames, token: "ghs_secret", ...inputs };
  const env = {
    ...leastEnvironment(),
    HOME: folder,
    ...Object.fromEntries(
      Object.entries(given).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value]),
    ),
    CI: "true",
    GITHUB_ACTIONS: "true",
    GITHUB_API_URL: api,
    GITHUB_SERVER_URL: "https://github.example",
    GITHUB_REPOSITORY: "octo/models",
    GITHUB_RUN_ID: "4242",
    GITHUB_SHA: sha,
    GITHUB_WORKSPACE: workspace,
    GITHUB_EVENT_NAME: event,
    GITHUB_EVENT_PATH: file("event.json"),
    GITHUB_OUTPUT: file("output"),
    GITHUB_STEP_SUMMARY: file("summary"),
    RUNNER_TEMP: folder,
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_SYSTEM: "/dev/null",
    ...options.env,
  };
  const child = spawn(process.execPath, [options.script], {
    cwd: workspace,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (piece: string) => {
      texts[name] += piece;
    });
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  return {
    exitCode,
    ...texts,
    annotations: commandsIn(texts.stdout),
    summary: readFileSync(file("summary"), "utf8"),
    outputs: existsSync(file("output")) ? outputsIn(readFileSync(file("output"), "utf8")) : {},
  };
}

/** As the runner reads a log: between `stop-commands` and its token nothing counts. */
function commandsIn(log: string): string[] {
  const found: string[] = [];
  let stopped: string | undefined;
  for (const line of log.split("\n")) {
    if (stopped !== undefined) {
      if (line === `::${stopped}::`) stopped = undefined;
      continue;
    }
    stopped = /^::stop-commands::(.+)$/.exec(line)?.[1];
    if (stopped === undefined && line.trimStart().startsWith("::")) found.push(line);
  }
  return found;
}

function outputsIn(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, name = "", , value = ""] of text.matchAll(/^([\w-]+)<<(\S+)\n([\s\S]*?)\n\2$/gm))
    found[name] = value;
  return found;
}
