/** An event's payload: what is read of it, and that anything else is the payload's fault and no bug. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readEvent } from "../../src/action/event.ts";
import { InputError } from "../../src/index.ts";
import { pullRequestEvent, pushEvent, workflowRunEvent } from "./payloads.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-event-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function read(name: string, payload: string) {
  const file = path.join(folder, "event.json");
  writeFileSync(file, payload);
  return readEvent({ GITHUB_EVENT_NAME: name, GITHUB_EVENT_PATH: file });
}

const commit = { sha: "a".repeat(40), ref: "wider" };
const pull = pullRequestEvent({ number: 7, base: "b".repeat(40), head: commit });

test("of a pull request, a push, a queue and a run that another follows", () => {
  expect(read("pull_request", JSON.stringify(pull))).toMatchObject({ number: 7, isFork: false });
  const gone = { ...pull, pull_request: { ...pull.pull_request, head: { ...commit, repo: null } } };
  expect(read("pull_request", JSON.stringify(gone))).toMatchObject({ isFork: true });
  expect(read("push", JSON.stringify(pushEvent("0".repeat(40), commit.sha)))).toEqual({
    kind: "push",
    base: undefined,
  });
  expect(read("merge_group", JSON.stringify({ merge_group: { base_sha: commit.sha } }))).toEqual({
    kind: "push",
    base: commit.sha,
  });
  expect(read("workflow_run", JSON.stringify(workflowRunEvent({ head: commit })))).toMatchObject({
    headSha: commit.sha,
  });
  expect(read("schedule", "{}")).toEqual({ kind: "other" });
});

const whole = JSON.stringify(pull);

test.each([
  ["", /is no JSON/],
  [whole.slice(0, 100), /is no JSON/],
  ["null", /expected an object/],
  ["[]", /pull_request: expected an object/],
  [whole.replaceAll('"number":7', '"number":"7"'), /lacks a number "number"/],
  [whole.replaceAll('"full_name":"octo/models"', '"full_name":1'), /lacks "full_name"/],
])("that is another is said to be so: %#", (payload, message) => {
  expect(() => read("pull_request", payload)).toThrow(InputError);
  expect(() => read("pull_request", payload)).toThrow(message);
});
