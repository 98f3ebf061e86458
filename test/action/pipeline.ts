/** @file The job of a merge request on GitLab: the command that keeps its note, in a checkout with the pipeline's variables. */

import { git } from "../cli/repository.ts";
import { type Run, run } from "../cli/run.ts";
import type { BuiltCli } from "../cli-process.ts";
import type { Team } from "./team.ts";

export interface Pipeline {
  readonly cli: BuiltCli;
  readonly team: Team;
  /** Where GitLab's API is. */
  readonly api: string;
  readonly branch: string;
  /** The commit that the merge request is compared with, which the job fetches. */
  readonly base: string;
  /** Variables that are otherwise. */
  readonly env?: Readonly<Record<string, string>>;
}

export async function runPipeline({
  cli,
  team,
  api,
  branch,
  base,
  env: more,
}: Pipeline): Promise<Run & { readonly cwd: string }> {
  const cwd = team.checkout(branch);
  git(cwd, "fetch", "-q", "--depth=1", "origin", base);
  const env = {
    CI_API_V4_URL: api,
    CI_PROJECT_ID: "99",
    CI_MERGE_REQUEST_PROJECT_ID: "42",
    CI_MERGE_REQUEST_IID: "7",
    CI_COMMIT_SHA: git(cwd, "rev-parse", "HEAD"),
    CI_PIPELINE_URL: "https://gitlab.example/group/models/-/pipelines/1",
    CI_JOB_NAME: "tc-lint: [h200]",
    GITLAB_TOKEN: "glpat-secret",
    HOME: cwd,
    ...more,
  };
  return { cwd, ...(await run(cli, ["compare", "--base", base, "--post", "gitlab"], { cwd, env })) };
}
