/** @file `compare --post gitlab`: the one note that a merge request has, where a pipeline's variables say which that is. */
import type { CompareReport } from "../compare/result.ts";
import { gitlabNotes } from "../forge/gitlab.ts";
import { ForgeError } from "../forge/http.ts";
import { type Done, keepComment } from "../forge/sticky.ts";
import { type CommentOptions, wantedComment } from "../report/compare-comment.ts";
import { complain } from "./stderr.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Says on stderr what became of it. What GitLab refuses fails nothing: what the comparison found stands. */
export async function postNote(
  comparison: CompareReport,
  describeTarget: CommentOptions["describeTarget"],
  env: Environment = process.env,
): Promise<void> {
  const { CI_COMMIT_SHA: head = "", CI_PIPELINE_URL: run = "", CI_JOB_NAME: job = "models" } = env;
  const access = accessOf(env);
  if (typeof access === "string") return complain(`--post gitlab: ${access}: no note is posted`);
  const wanted = wantedComment(comparison, { describeTarget, head, run });
  try {
    complain(
      `merge request !${access.mergeRequest}: ${said[await keepComment(gitlabNotes(access), job, wanted)]}`,
    );
  } catch (error) {
    if (!(error instanceof ForgeError)) throw error;
    const hint =
      error.failure === "forbidden" ? "; GITLAB_TOKEN needs the scope api, and the role Reporter" : "";
    complain(`--post gitlab: ${error.message}${hint}`);
  }
}

/** Or why there is none: pipelines of forks have no token, and not every pipeline is a merge request's. */
function accessOf(env: Environment) {
  const {
    CI_API_V4_URL: api = "",
    CI_PROJECT_ID: own = "",
    // A fork's pipeline runs in the fork; the merge request is in the project that it asks to be merged into.
    CI_MERGE_REQUEST_PROJECT_ID: project = own,
    CI_MERGE_REQUEST_IID: mergeRequest = "",
    GITLAB_TOKEN: token = "",
  } = env;
  if (mergeRequest === "") return "CI_MERGE_REQUEST_IID is not set, as in a pipeline of no merge request";
  if (api === "" || project === "") return "CI_API_V4_URL or CI_PROJECT_ID is not set";
  if (token === "") return "GITLAB_TOKEN is not set, as in a pipeline of a fork";
  return { api, project, mergeRequest, token };
}

const said = {
  created: "noted",
  updated: "the note is brought up to date",
  unchanged: "the note stays as it is",
  deleted: "the note is taken away",
  none: "nothing to note",
} as const satisfies Record<Done, string>;
