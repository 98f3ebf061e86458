/** @file What a workflow runs for: the event's payload, read for the few things that matter here. */
import { InputError } from "../ir/errors.ts";
import { readSmallFile } from "../wire/small-file.ts";
import { runnerVariable } from "./protocol.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface PullRequestEvent {
  readonly kind: "pull-request";
  readonly number: number;
  readonly base: string;
  readonly head: string;
  /** Of another repository, whose workflows have a token that writes nothing. */
  readonly isFork: boolean;
}

export interface PushEvent {
  readonly kind: "push";
  /** Undefined for a branch or tag that is new. */
  readonly base: string | undefined;
}

/** Another workflow's run, which a workflow with more rights follows. */
export interface FollowedRun {
  readonly kind: "workflow-run";
  readonly event: string;
  readonly headSha: string;
  readonly headBranch: string;
  readonly headRepository: string;
  readonly id: number;
}

export type WorkflowEvent = PullRequestEvent | PushEvent | FollowedRun | { readonly kind: "other" };

/** GitHub bounds payloads below that. */
const mostBytes = 64 << 20;

/** Throws InputError where the payload is not what GitHub sends. */
export function readEvent(env: Environment): WorkflowEvent {
  const name = runnerVariable(env, "GITHUB_EVENT_NAME");
  const what = `the payload of ${name}`;
  const event = new Payload(payloadIn(runnerVariable(env, "GITHUB_EVENT_PATH"), what), what);
  switch (name) {
    case "pull_request":
    case "pull_request_target":
      return pullRequest(event.in("pull_request"));
    case "push":
      return push(event);
    case "merge_group":
      return { kind: "push", base: event.in("merge_group").text("base_sha") };
    case "workflow_run":
      return workflowRun(event.in("workflow_run"));
    default:
      return { kind: "other" };
  }
}

function payloadIn(path: string, what: string): unknown {
  try {
    return JSON.parse(readSmallFile(path, mostBytes).toString("utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) throw new InputError("bad-event", `${what} is no JSON: ${path}`);
    throw error;
  }
}

function pullRequest(request: Payload): PullRequestEvent {
  const [base, head] = [request.in("base"), request.in("head")];
  // Null where the fork is deleted.
  const from = head.optional("repo")?.text("full_name");
  return {
    kind: "pull-request",
    number: request.number("number"),
    base: base.text("sha"),
    head: head.text("sha"),
    isFork: from !== base.in("repo").text("full_name"),
  };
}

function push(event: Payload): PushEvent {
  const before = event.text("before");
  return { kind: "push", base: /^0+$/.test(before) ? undefined : before };
}

function workflowRun(run: Payload): FollowedRun {
  return {
    kind: "workflow-run",
    event: run.text("event"),
    headSha: run.text("head_sha"),
    headBranch: run.optionalText("head_branch"),
    headRepository: run.optional("head_repository")?.text("full_name") ?? "",
    id: run.number("id"),
  };
}

/** Part of a payload, which knows where it is. */
class Payload {
  readonly #value: object;
  readonly #place: string;

  constructor(value: unknown, place: string) {
    if (typeof value !== "object" || value === null)
      throw new InputError("bad-event", `${place}: expected an object`);
    this.#value = value;
    this.#place = place;
  }

  in(key: string): Payload {
    return new Payload(this.#get(key), `${this.#place}.${key}`);
  }

  optional(key: string): Payload | undefined {
    const value = this.#get(key);
    return value === undefined || value === null ? undefined : this.in(key);
  }

  text(key: string): string {
    const value = this.#get(key);
    if (typeof value === "string" && value !== "") return value;
    throw new InputError("bad-event", `${this.#place}: lacks "${key}"`);
  }

  optionalText(key: string): string {
    const value = this.#get(key);
    return typeof value === "string" ? value : "";
  }

  number(key: string): number {
    const value = this.#get(key);
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
    throw new InputError("bad-event", `${this.#place}: lacks a number "${key}"`);
  }

  #get(key: string): unknown {
    return Object.hasOwn(this.#value, key) ? Reflect.get(this.#value, key) : undefined;
  }
}
