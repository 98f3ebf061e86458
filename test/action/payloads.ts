/** @file Payloads of GitHub's events, with the fields that its documentation has and that matter here. */
export interface Commit {
  readonly sha: string;
  readonly ref: string;
}

const owner = { full_name: "octo/models", fork: false, default_branch: "main", private: false };
const fork = { full_name: "mallory/models", fork: true, default_branch: "main", private: false };

export interface PullOptions {
  readonly number: number;
  readonly base: string;
  readonly head: Commit;
  readonly from?: "here" | "fork";
}

/** Also what `GET /repos/octo/models/pulls/7` answers, but for what it has more. */
export function pullOf({ number, base, head, from = "here" }: PullOptions) {
  const repo = from === "fork" ? fork : owner;
  return {
    number,
    state: "open",
    draft: false,
    title: "A change",
    head: { label: `${repo.full_name.split("/")[0]}:${head.ref}`, ref: head.ref, sha: head.sha, repo },
    base: { label: "octo:main", ref: "main", sha: base, repo: owner },
  };
}

export function pullRequestEvent(options: PullOptions) {
  return {
    action: "synchronize",
    number: options.number,
    pull_request: pullOf(options),
    repository: owner,
    sender: { login: "ada", type: "User" },
  };
}

export function pushEvent(before: string, after: string) {
  return {
    ref: "refs/heads/main",
    before,
    after,
    created: /^0+$/.test(before),
    forced: false,
    repository: owner,
    commits: [],
  };
}

/** Of a pull request from a fork `pull_requests` is empty: whose it is must be asked for. */
export function workflowRunEvent(
  { head, from = "here" }: Pick<PullOptions, "head" | "from">,
  event = "pull_request",
) {
  return {
    action: "completed",
    workflow_run: {
      id: 4242,
      name: "tc-lint",
      event,
      status: "completed",
      conclusion: "success",
      head_branch: head.ref,
      head_sha: head.sha,
      head_repository: from === "fork" ? fork : owner,
      repository: owner,
      pull_requests: [],
    },
    repository: owner,
  };
}
