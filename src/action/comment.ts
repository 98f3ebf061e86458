/** @file The comment on a pull request: posted where the token may, else handed to a run that may. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describeTarget } from "../cli/run-compare.ts";
import { writeStdout } from "../cli/stdout.ts";
import type { CompareReport } from "../compare/result.ts";
import { makeFolder } from "../files/make-folder.ts";
import { Github } from "../forge/github.ts";
import { ForgeError } from "../forge/http.ts";
import { type Done, keepComment } from "../forge/sticky.ts";
import { InputError } from "../ir/errors.ts";
import { wantedComment } from "../report/compare-comment.ts";
import { readCarried, writeCarried } from "./carried.ts";
import type { FollowedRun } from "./event.ts";
import { command, type Level, runnerVariable, setOutput } from "./protocol.ts";
import type { Step } from "./review.ts";

/** The comment of a run that was made for a pull request. What the forge refuses fails nothing: the verdict stands. */
export async function offerComment(step: Step, comparison: CompareReport): Promise<void> {
  const { inputs, event, env } = step;
  const head = event.kind === "pull-request" ? event.head : (env["GITHUB_SHA"] ?? "");
  const wanted = wantedComment(comparison, { describeTarget, head, run: runAddress(env) });
  setOutput(env, "comment-body", wanted.kind === "none" ? "" : wanted.body);
  if (!inputs.comment || event.kind !== "pull-request") return;
  if (event.isFork) return carry(step, event.number, comparison, "a fork's token may not write");
  if (inputs.token === undefined) return carry(step, event.number, comparison, "there is no token");
  try {
    const comments = githubOf(step, inputs.token).commentsOf(event.number);
    await say("notice", await keepComment(comments, inputs.commentName, wanted), event.number);
  } catch (error) {
    if (!(error instanceof ForgeError)) throw error;
    await carry(step, event.number, comparison, hinted(error), "warning");
  }
}

function hinted({ failure, message }: ForgeError): string {
  return failure === "forbidden" ? `${message}; permissions: pull-requests: write lets it` : message;
}

async function carry(
  { inputs, env }: Step,
  pullRequest: number,
  comparison: CompareReport,
  why: string,
  level: Level = "notice",
): Promise<void> {
  const path = resolve(
    inputs.commentFile ?? join(runnerVariable(env, "RUNNER_TEMP"), "tc-lint", "comment.json"),
  );
  makeFolder(dirname(path));
  writeCarried(path, { version: 1, pullRequest, comparison });
  setOutput(env, "comment-file", path);
  await writeStdout(command(level, `no comment is posted: ${why}. ${path} has what a workflow_run may post`));
}

/**
 * The second half: posts what a run without rights left behind. Throws InputError where that is not what it says it is, and where the
 * forge refuses: nothing else is done here, and nobody would look for a comment that is missing.
 */
export async function postCarried(step: Step): Promise<void> {
  try {
    await post(step);
  } catch (error) {
    throw error instanceof ForgeError ? new InputError(error.code, hinted(error), { cause: error }) : error;
  }
}

async function post(step: Step): Promise<void> {
  const { inputs, event, env } = step;
  if (event.kind !== "workflow-run" || event.event !== "pull_request")
    throw new InputError(
      "bad-event",
      "mode comment: expected the event workflow_run, of a pull_request's run",
    );
  const { commentFile, token } = inputs;
  if (commentFile === undefined) throw new InputError("usage", "mode comment: lacks comment-file");
  if (token === undefined) throw new InputError("usage", "mode comment: lacks token");
  // A run that posted its comment itself leaves none.
  if (!existsSync(commentFile)) {
    await writeStdout(command("notice", `${commentFile} is not there: nothing is to be posted`));
    return;
  }
  const { pullRequest, comparison } = readCarried(commentFile);
  const github = githubOf(step, token);
  if (!(await isOf(github, pullRequest, event))) {
    const what = `#${pullRequest} is not, or is no longer, the open pull request of run ${event.id}`;
    await writeStdout(command("warning", `${what}: nothing is posted`));
    return;
  }
  const address = runAddress(env, event.id);
  const wanted = wantedComment(comparison, { describeTarget, head: event.headSha, run: address });
  const done = await keepComment(github.commentsOf(pullRequest), inputs.commentName, wanted);
  await say("notice", done, pullRequest);
}

/** The artifact says a number; GitHub says of which repository, branch and commit that pull request is, and of which the run was. */
async function isOf(github: Github, number: number, run: FollowedRun): Promise<boolean> {
  const { state, headSha, headRef, headRepository } = await github.pullRequest(number);
  return (
    state === "open" &&
    headSha === run.headSha &&
    headRef === run.headBranch &&
    headRepository !== "" &&
    headRepository === run.headRepository
  );
}

function githubOf({ env }: Step, token: string): Github {
  return new Github({
    api: runnerVariable(env, "GITHUB_API_URL"),
    repository: runnerVariable(env, "GITHUB_REPOSITORY"),
    token,
  });
}

function runAddress(env: Step["env"], id = Number(env["GITHUB_RUN_ID"] ?? 0)): string {
  const { GITHUB_SERVER_URL: server = "", GITHUB_REPOSITORY: repository = "" } = env;
  return server === "" || repository === "" || id === 0 ? "" : `${server}/${repository}/actions/runs/${id}`;
}

const said = {
  created: "commented on",
  updated: "the comment is brought up to date on",
  unchanged: "the comment stays as it is on",
  deleted: "the comment is taken away from",
  none: "nothing to comment on in",
} as const satisfies Record<Done, string>;

async function say(level: Level, done: Done, pullRequest: number): Promise<void> {
  await writeStdout(command(level, `${said[done]} #${pullRequest}`));
}
