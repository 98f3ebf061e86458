/** The Action and its neighbours, end to end: a team's repository, its pull requests, and the server that stands for GitHub. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { run } from "../cli/run.ts";
import { type BuiltCli, buildCli } from "../cli-process.ts";
import { type ForgeServer, forgeServer } from "../forge/server.ts";
import { pullOf, pullRequestEvent, pushEvent, workflowRunEvent } from "./payloads.ts";
import { runStep, type StepOptions } from "./runner.ts";
import { detectors, segmenters, Team } from "./team.ts";

let cli: BuiltCli;
let team: Team;
let server: ForgeServer;
beforeAll(() => {
  cli = buildCli();
});
afterAll(() => cli?.[Symbol.dispose]());
beforeEach(async () => {
  team = new Team();
  server = await forgeServer("github");
  return async () => {
    team[Symbol.dispose]();
    await server.close();
  };
});

const step = (options: Pick<StepOptions, "workspace" | "event" | "payload"> & Partial<StepOptions>) =>
  runStep({
    script: path.join(path.dirname(cli.script), "..", "action", "index.js"),
    temporary: path.join(team.folder, "runner"),
    api: server.url,
    ...options,
    inputs: { "source-root": "src", ...options.inputs },
  });

/** What a workflow of `on: pull_request` does, with the payload's base as old as the branch. */
function review(
  number: number,
  head: { sha: string; ref: string },
  base: string,
  more: Partial<StepOptions> = {},
) {
  const workspace = team.checkout(`refs/pull/${number}/merge`);
  return step({
    workspace,
    event: "pull_request",
    payload: pullRequestEvent({ number, base, head }),
    ...more,
  });
}

/** What the shipped hook runs over the files of a commit. */
const hook = (...files: readonly string[]) =>
  run(cli, ["--force-exclude", "--no-error-on-unmatched-pattern", "--fail-on", "fixable", ...files], {
    cwd: team.clone,
  });

describe("a pull request that misaligns a layer", () => {
  test("fails, is annotated at the line of Python, and has one comment: begun, brought up to date, folded, taken away", async () => {
    const base = team.main();
    const head = team.commit("wider", 7, () => team.write("models/detector.onnx", detectors.misaligned));
    // Somebody else's change to main, since: it is none of this one's.
    team.commitToMain(() => team.write("models/segmenter.onnx", segmenters.aligned));
    team.commit("wider", 7, () => team.write("README.md", "wider"));
    const first = await review(
      7,
      team.commit("wider", 7, () => {}),
      base,
      {
        inputs: { "sarif-file": "reports/tc-lint.sarif", html: "reports/tc-lint.html" },
      },
    );
    expect([first.exitCode, first.stderr]).toEqual([1, expect.not.stringContaining("bug")]);
    expect(first.annotations.join("\n")).toMatch(
      /^::error file=src\/models\/backbones\.py,line=\d+,title=TC101 misaligned-conv-channels::node_Conv_39 \(Conv\): 67 → 129/m,
    );
    expect(first.annotations.join("\n")).toContain("::notice title=tc-lint::commented on #7");
    expect(first.summary).toMatch(
      /^# Against the base\n\n\*\*.*1 slower.*\*\*; 1 model compared, 4 unchanged/,
    );
    expect(first.summary).toContain("## `models/detector.onnx`");
    expect(first.summary).not.toContain("segmenter");
    expect(first.outputs).toMatchObject({ regressions: "1" });
    expect(first.outputs["sarif-file"]).toMatch(/^\/.*\/checkout-\d+\/reports\/tc-lint\.sarif$/);
    expect(existsSync(first.outputs["html"] ?? "")).toBe(true);
    expect(Number(first.outputs["new-findings"])).toBeGreaterThan(0);
    expect(Number(first.outputs["findings"])).toBeGreaterThanOrEqual(Number(first.outputs["new-findings"]));
    expect(server.comments).toHaveLength(1);
    const [comment] = server.comments;
    expect(comment?.body).toMatch(/^<!-- tc-lint comment: models -->\n\*\*.*1 slower/);
    expect(comment?.body).toMatch(/new error\*\* TC101 .*; `models\/backbones\.py:\d+`$/m);
    expect(comment?.body).toContain("https://github.example/octo/models/actions/runs/4242");
    expect(comment?.body).toContain(first.outputs["comment-body"]);
    expect(head.ref).toBe("wider");

    const further = team.commit("wider", 7, () => team.write("models/detector.onnx", detectors.further));
    const second = await review(7, further, base);
    expect(second.annotations.join("\n")).toContain("the comment is brought up to date on #7");
    expect(server.comments.map(({ id }) => id)).toEqual([comment?.id]);
    expect(server.comments[0]?.body).toContain("141");

    const same = team.commit("wider", 7, () => team.write("models/detector.onnx", detectors.anew));
    const third = await review(7, same, base);
    expect([third.exitCode, third.outputs["new-findings"]]).toEqual([0, "0"]);
    expect(server.comments.map(({ id, body }) => [id, body.split("\n")[1]])).toEqual([
      [comment?.id, "<details><summary>tc-lint: nothing moved beyond its interval</summary>"],
    ]);

    const back = team.commit("wider", 7, () => team.write("models/detector.onnx", detectors.aligned));
    const fourth = await review(7, back, base);
    expect([fourth.exitCode, server.comments, fourth.outputs["comment-body"]]).toEqual([0, [], ""]);
    expect(fourth.annotations).toEqual(["::notice title=tc-lint::the comment is taken away from #7"]);
    expect(fourth.summary).toContain("No model differs.");
  }, 180_000);

  test("is stopped by the hook before, and let pass once it is repaired", async () => {
    team.write("models/detector.onnx", detectors.misaligned);
    const stopped = await hook("models/detector.onnx");
    expect([stopped.exitCode, stopped.stdout]).toEqual([1, expect.stringContaining("TC101")]);
    team.write("models/detector.onnx", detectors.aligned);
    expect((await hook("models/detector.onnx")).exitCode).toBe(0);
  });

  test("reports go where they were asked for, with what the changed models have", async () => {
    const base = team.main();
    const head = team.commit("wider", 7, () => team.write("models/detector.onnx", detectors.misaligned));
    const workspace = team.checkout("refs/pull/7/merge");
    const inputs = { "sarif-file": "out/a.sarif", html: "out/a.html", comment: "false", "fail-on": "never" };
    const payload = pullRequestEvent({ number: 7, base, head });
    const { exitCode } = await step({ workspace, event: "pull_request", payload, inputs });
    expect([exitCode, server.requests]).toEqual([0, []]);
    const sarif = JSON.parse(readFileSync(path.join(workspace, "out/a.sarif"), "utf8"));
    const uris = sarif.runs[0].results.map(
      (result: { locations: [{ physicalLocation: { artifactLocation: { uri: string } } }] }) =>
        result.locations[0].physicalLocation.artifactLocation.uri,
    );
    expect(new Set(uris)).toEqual(new Set(["models/detector.onnx"]));
    expect(readFileSync(path.join(workspace, "out/a.html"), "utf8")).toContain("detector.onnx");
  });
});

test("a pull request that repairs a layer passes, and is told what it gains", async () => {
  const base = team.main();
  const head = team.commit("align", 8, () => team.write("models/segmenter.onnx", segmenters.aligned));
  const { exitCode, annotations, outputs } = await review(8, head, base);
  expect(exitCode, annotations.join()).toBe(0);
  expect(outputs).toMatchObject({ regressions: "0" });
  // In FP16 it pays now, which is worth a warning: no error is new.
  expect(annotations.filter((line) => line.startsWith("::error"))).toEqual([]);
  expect(annotations.at(-1)).toBe("::notice title=tc-lint::commented on #8");
  expect(server.comments[0]?.body).toMatch(/1 faster, \d+ findings fixed/);
});

test("a pull request that only moves a model has nothing to say, and no comment", async () => {
  const base = team.main();
  const head = team.commit("tidy", 9, () => {
    renameSync(path.join(team.clone, "models/segmenter.onnx"), path.join(team.clone, "segmenter.onnx"));
  });
  const { exitCode, annotations, summary } = await review(9, head, base);
  expect([exitCode, server.comments]).toEqual([0, []]);
  expect(annotations).toEqual(["::notice title=tc-lint::nothing to comment on in #9"]);
  expect(summary).toContain("1 only moved");
  // The hook looks at what is there, moved or not: what was let off before is for a baseline to say.
  expect((await hook("segmenter.onnx")).exitCode).toBe(1);
});

describe("a pull request of a fork", () => {
  const noToken = { token: "" };
  const of = { number: 7, from: "fork" } as const;

  async function reviewed() {
    const base = team.main();
    const head = team.commit("wider", 7, () => team.write("models/detector.onnx", detectors.misaligned));
    const workspace = team.checkout("refs/pull/7/merge");
    const payload = pullRequestEvent({ ...of, base, head });
    const result = await step({ workspace, event: "pull_request", payload, inputs: noToken });
    const follow = (file: string, event: unknown = workflowRunEvent({ head, from: "fork" })) =>
      step({
        workspace: team.folder,
        event: "workflow_run",
        payload: event,
        inputs: { mode: "comment", "comment-file": file },
      });
    server.pullRequest = pullOf({ ...of, base, head });
    return { result, head, base, follow, file: result.outputs["comment-file"] ?? "" };
  }

  test("asks nothing of GitHub; the run that follows posts, updates and takes away its comment", async () => {
    const { result, follow, file } = await reviewed();
    expect([result.exitCode, server.requests]).toEqual([1, []]);
    expect(result.annotations.join("\n")).toContain("::error file=src/models/backbones.py");
    expect(result.annotations.at(-1)).toMatch(/no comment is posted: a fork's token may not write/);
    const posted = await follow(file);
    expect([posted.exitCode, posted.stdout]).toEqual([0, "::notice title=tc-lint::commented on #7\n"]);
    expect(server.comments[0]?.body.split("\n").slice(1).join("\n").trim()).toBe(
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
    expect(server.comments).toEqual([]);
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
      server.pullRequest = other;
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
    expect(server.comments).toEqual([]);
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
    const [{ body } = { body: "" }] = server.comments;
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
    expect(server.requests).toEqual([]);
  });

  test("a run that left nothing has nothing to post", async () => {
    const { follow } = await reviewed();
    expect(await follow(path.join(team.folder, "absent.json"))).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("is not there"),
    });
  });
});

test("a token that may not comment fails nothing, and leaves the comment to a run that may", async () => {
  const base = team.main();
  const head = team.commit("align", 8, () => team.write("models/segmenter.onnx", segmenters.aligned));
  server.fail("GET", [{ status: 403, body: { message: "Resource not accessible by integration" } }]);
  const { exitCode, annotations, outputs } = await review(8, head, base);
  expect(exitCode).toBe(0);
  expect(annotations.at(-1)).toMatch(
    /^::warning .*Resource not accessible by integration; permissions: pull-requests: write/,
  );
  expect(existsSync(outputs["comment-file"] ?? "")).toBe(true);
});

describe("a push", () => {
  test("is compared with what was there before", async () => {
    const before = team.main();
    const after = team.commitToMain(() => team.write("models/detector.onnx", detectors.misaligned));
    const workspace = team.checkout("main");
    const { exitCode, outputs, summary } = await step({
      workspace,
      event: "push",
      payload: pushEvent(before, after),
      sha: after,
    });
    expect([exitCode, server.requests]).toEqual([1, []]);
    expect(outputs).toMatchObject({ regressions: "1" });
    expect(summary).toContain("against `");
  });

  test("of a new branch has nothing to be compared with: every model is linted", async () => {
    const workspace = team.checkout("main");
    const payload = pushEvent("0".repeat(40), team.main());
    const { exitCode, outputs, summary } = await step({ workspace, event: "push", payload });
    expect(exitCode).toBe(1);
    expect(outputs["new-findings"]).toBe(outputs["findings"]);
    expect(summary).toContain("5 models");
  });
});

describe("what is asked for", () => {
  test("is below a folder of the checkout, at lines that another machine called otherwise", async () => {
    const base = team.main();
    const head = team.commit("wider", 7, () => team.write("models/detector.onnx", detectors.misaligned));
    const { annotations } = await review(7, head, base, {
      inputs: {
        "working-directory": "models",
        "source-root": "",
        "path-mapping": "elsewhere=x\nmodels=../src/models",
      },
    });
    expect(annotations[0]).toMatch(/^::error file=src\/models\/backbones\.py,line=\d+,title=TC101/);
  });

  test.each([
    [{ paths: "nowhere" }, /nowhere: .*(not there|no such|cannot be)/],
    [{ gpu: "h2000" }, /found "h2000"/],
    [{ "working-directory": "nowhere" }, /expected a folder of the checkout/],
    [{ base: "no-such-branch" }, /base no-such-branch: is not here, and cannot be fetched/],
  ])("is named where it is wrong: %j", async (inputs, message) => {
    const workspace = team.checkout("main");
    const result = await step({ workspace, event: "workflow_dispatch", payload: {}, inputs });
    expect([result.exitCode, result.annotations]).toEqual([2, [expect.stringMatching(message)]]);
    expect(result.annotations[0]).toMatch(/^::error .*title=tc-lint/);
  });
});

describe("what a change is about", () => {
  test("a configuration's models are linted with it; weights' models too, and what else is there is not", async () => {
    team.commitToMain(() => {
      team.write("half/tc-lint.config.json", '{ "gpu": "a100" }\n');
      team.write("half/segmenter.onnx", segmenters.misaligned);
      team.write("weights/segmenter.onnx", segmenters.misaligned);
      team.write("weights/seg_unet_dynamo.weights", new Uint8Array(2 << 20));
    });
    const base = team.main();
    const head = team.commit("config", 3, () => {
      team.write("half/tc-lint.config.json", '{ "gpu": "h200", "stack": "cudnn" }\n');
      team.write("weights/seg_unet_dynamo.weights", new Uint8Array(2 << 20).fill(1));
      team.write("notes.txt", "nothing");
    });
    const { summary, annotations } = await review(3, head, base, { inputs: { "fail-on": "never" } });
    expect([...summary.matchAll(/^## `(.+)`$/gm)].map(([, name]) => name)).toEqual([
      "half/segmenter.onnx",
      "weights/segmenter.onnx",
    ]);
    // Under another configuration all may be new; other weights change nothing that is linted.
    expect(annotations.filter((line) => line.includes("TC101"))).toHaveLength(1);
  });
});
