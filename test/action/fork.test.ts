/** A fork's pull request: nothing is asked of GitHub, and what it leaves is not believed. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { pullOf, pullRequestEvent, workflowRunEvent } from "./payloads.ts";
import { detectors } from "./team.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

describe("a pull request of a fork", () => {
  const noToken = { token: "" };
  const of = { number: 7, from: "fork" } as const;

  async function reviewed() {
    const base = bench.team.main();
    const head = bench.team.commit("wider", 7, () =>
      bench.team.write("models/detector.onnx", detectors.misaligned),
    );
    const workspace = bench.team.checkout("refs/pull/7/merge");
    const payload = pullRequestEvent({ ...of, base, head });
    const result = await bench.step({ workspace, event: "pull_request", payload, inputs: noToken });
    const follow = (file: string, event: unknown = workflowRunEvent({ head, from: "fork" })) =>
      bench.step({
        workspace: bench.team.folder,
        event: "workflow_run",
        payload: event,
        inputs: { mode: "comment", "comment-file": file },
      });
    bench.server.pullRequest = pullOf({ ...of, base, head });
    return { result, head, base, follow, file: result.outputs["comment-file"] ?? "" };
  }

  test("asks nothing of GitHub; the run that follows posts, updates and takes away its comment", async () => {
    const { result, follow, file } = await reviewed();
    expect([result.exitCode, bench.server.requests]).toEqual([1, []]);
    expect(result.annotations.join("\n")).toContain("::error file=src/models/backbones.py");
    expect(result.annotations.at(-1)).toMatch(/no comment is posted: a fork's token may not write/);
    const posted = await follow(file);
    expect([posted.exitCode, posted.stdout]).toEqual([0, "::notice title=tc-lint::commented on #7\n"]);
    expect(bench.server.comments[0]?.body.split("\n").slice(1).join("\n").trim()).toBe(
      result.outputs["comment-body"]?.trim(),
    );
    expect((await follow(file)).stdout).toContain("stays as it is");
    const carried = JSON.parse(readFileSync(file, "utf8"));
    carried.comparison.models = [];
    carried.comparison.summary = {
      ...carried.comparison.summary,
      newErrors: 0,
      newWarnings: 0,
      newInfos: 0,
      slower: 0,
      faster: 0,
      fixed: 0,
    };
    writeFileSync(file, JSON.stringify(carried));
    expect((await follow(file)).stdout).toContain("taken away from #7");
    expect(bench.server.comments).toEqual([]);
  });

  test("cannot have it posted elsewhere: number, commit, branch and repository are GitHub's to say", async () => {
    const { head, base, follow, file } = await reviewed();
    const others = [
      pullOf({ ...of, base, head, from: "here" }),
      pullOf({ ...of, base, head: { ...head, sha: "f".repeat(40) } }),
      pullOf({ ...of, base, head: { ...head, ref: "another" } }),
      { ...pullOf({ ...of, base, head }), state: "closed" },
      { ...pullOf({ ...of, base, head }), head: { ...pullOf({ ...of, base, head }).head, repo: null } },
    ];
    for (const other of others) {
      bench.server.pullRequest = other;
      const { exitCode, stdout } = await follow(file);
      expect([exitCode, stdout]).toEqual([
        0,
        expect.stringContaining("::warning title=tc-lint::#7 is not, or is no longer"),
      ]);
    }
    const pushed = await follow(file, workflowRunEvent({ head, from: "fork" }, "push"));
    expect([pushed.exitCode, pushed.stdout]).toEqual([
      2,
      expect.stringContaining("expected the event workflow_run"),
    ]);
    expect(bench.server.comments).toEqual([]);
  });

  test("can put names into it, and nothing else", async () => {
    const { follow, file } = await reviewed();
    const evil =
      "@octo/owners see [here](https://evil.example) <img src=x> #1 www.evil.example\n\n# Approved\n/merge";
    const carried = JSON.parse(readFileSync(file, "utf8"));
    const [model] = carried.comparison.models;
    model.path = evil;
    model.head.path = evil;
    model.findings.new[0].message = evil;
    model.findings.new[0].node = evil;
    model.notices = [{ code: "x", message: evil }];
    carried.comparison.tool.version = evil;
    carried.comparison.base.ref = evil;
    writeFileSync(file, JSON.stringify(carried));
    expect((await follow(file)).exitCode).toBe(0);
    const [{ body } = { body: "" }] = bench.server.comments;
    expect(body).not.toMatch(/@octo|\]\(https:\/\/evil|<img|https:\/\/evil|www\.evil|^# Approved|^\/merge/m);
    expect(body).toContain("evil");
  });

  test("a file of another shape is refused", async () => {
    const { follow, file } = await reviewed();
    const good = readFileSync(file, "utf8");
    for (const damage of [
      (text: string) => text.slice(10),
      (text: string) => text.replace('"version":1', '"version":2'),
      (text: string) => text.replace('"pullRequest":7', '"pullRequest":"7/../../issues/1"'),
      (text: string) => text.replace('"precision":"fp16"', '"precision":"<b>fp16</b>"'),
      (text: string) => text.replace('"severity":"error"', '"severity":"@octo"'),
      (text: string) => text.replace('"summary":{', '"summary":{"more":1,'),
    ]) {
      expect(damage(good)).not.toBe(good);
      writeFileSync(file, damage(good));
      const { exitCode, stdout } = await follow(file);
      expect([exitCode, stdout]).toEqual([
        2,
        expect.stringMatching(/^::error title=tc-lint::.*nothing is posted/),
      ]);
    }
    expect(bench.server.requests).toEqual([]);
  });

  test("a token that may not post is an error of the run that is there to post, with the permission that it lacks", async () => {
    const { follow, file } = await reviewed();
    bench.server.fail("POST", [{ status: 403, body: { message: "Resource not accessible by integration" } }]);
    const { exitCode, stdout } = await follow(file);
    expect([exitCode, stdout]).toEqual([
      2,
      expect.stringMatching(/^::error .*HTTP 403, .*; permissions: pull-requests: write lets it/),
    ]);
  });

  test("a run that left nothing has nothing to post", async () => {
    const { follow } = await reviewed();
    expect(await follow(path.join(bench.team.folder, "absent.json"))).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("is not there"),
    });
  });
});
