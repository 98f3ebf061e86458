/** @file What tests of the Action share: a build, and for each test a team's repository and the server that stands for GitHub. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { type Run, run } from "../cli/run.ts";
import { type BuiltCli, buildCli } from "../cli-process.ts";
import { type ForgeServer, forgeServer } from "../forge/server.ts";
import { pullRequestEvent } from "./payloads.ts";
import { type Pipeline, runPipeline } from "./pipeline.ts";
import { runStep, type StepOptions, type StepRun } from "./runner.ts";
import { Team } from "./team.ts";

export interface Workbench {
  readonly team: Team;
  readonly server: ForgeServer;
  step(
    options: Pick<StepOptions, "workspace" | "event" | "payload"> & Partial<StepOptions>,
  ): Promise<StepRun>;
  /** What a workflow of `on: pull_request` does, with the payload's base as old as the branch. */
  review(
    number: number,
    head: { sha: string; ref: string },
    base: string,
    more?: Partial<StepOptions>,
  ): Promise<StepRun>;
  /** What the shipped hook runs over the files of a commit. */
  hook(...files: readonly string[]): Promise<Run>;
  tcLint(args: readonly string[], cwd: string): Promise<Run>;
  /** What GitLab's job does. */
  pipeline(job: Omit<Pipeline, "cli" | "team">): Promise<Run>;
}

/** Of the hook `tc-lint`, as the hooks' repository has it. */
function hookArguments(): string[] {
  const file = new URL("../../scripts/hook-repository/.pre-commit-hooks.yaml", import.meta.url);
  const [, entry = "", args = ""] =
    /- id: tc-lint\n(?: {2}.*\n)*? {2}entry: tc-lint (.*)\n {2}args: \[(.*)\]\n/.exec(
      readFileSync(file, "utf8"),
    ) ?? [];
  return [...entry.split(" "), ...args.split(", ")];
}

/** Called at the top of a test file. */
export function useWorkbench(): Workbench {
  let cli: BuiltCli | undefined;
  let made: { readonly team: Team; readonly server: ForgeServer } | undefined;
  const during = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("there is one during tests only");
    return value;
  };
  beforeAll(() => {
    cli = buildCli();
  });
  afterAll(() => cli?.[Symbol.dispose]());
  beforeEach(async () => {
    const [team, server] = [new Team(), await forgeServer("github")];
    made = { team, server };
    return async () => {
      team[Symbol.dispose]();
      await server.close();
    };
  });
  const bench: Workbench = {
    get team() {
      return during(made).team;
    },
    get server() {
      return during(made).server;
    },
    step: (options) =>
      runStep({
        script: path.join(path.dirname(during(cli).script), "..", "action", "index.js"),
        temporary: path.join(bench.team.folder, "runner"),
        api: bench.server.url,
        ...options,
        inputs: { "source-root": "src", ...options.inputs },
      }),
    review: (number, head, base, more = {}) =>
      bench.step({
        workspace: bench.team.checkout(`refs/pull/${number}/merge`),
        event: "pull_request",
        payload: pullRequestEvent({ number, base, head }),
        ...more,
      }),
    hook: (...files) => bench.tcLint([...hookArguments(), ...files], bench.team.clone),
    tcLint: (args, cwd) => run(during(cli), args, { cwd }),
    pipeline: (job) => runPipeline({ cli: during(cli), team: bench.team, ...job }),
  };
  return bench;
}
