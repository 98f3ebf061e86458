/** The Action and its neighbours, end to end: a team's repository, its pull requests, and the server that stands for GitHub. */
import { existsSync, readFileSync, renameSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { pullRequestEvent, pushEvent } from "./payloads.ts";
import { detectors, segmenters } from "./team.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

describe("a pull request that misaligns a layer", () => {
  test("fails, is annotated at the line of Python, and has one comment: begun, brought up to date, folded, taken away", async () => {
    const base = bench.team.main();
    const head = bench.team.commit("wider", 7, () =>
      bench.team.write("models/detector.onnx", detectors.misaligned),
    );
    // Somebody else's change to main, since: it is none of this one's.
    bench.team.commitToMain(() => bench.team.write("models/segmenter.onnx", segmenters.aligned));
    bench.team.commit("wider", 7, () => bench.team.write("README.md", "wider"));
    const first = await bench.review(
      7,
      bench.team.commit("wider", 7, () => {}),
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
    expect(bench.server.comments).toHaveLength(1);
    const [comment] = bench.server.comments;
    expect(comment?.body).toMatch(/^<!-- tc-lint comment: models -->\n\*\*.*1 slower/);
    expect(comment?.body).toMatch(/new error\*\* TC101 .*; `models\/backbones\.py:\d+`$/m);
    expect(comment?.body).toContain("https://github.example/octo/models/actions/runs/4242");
    expect(comment?.body).toContain(first.outputs["comment-body"]);
    expect(head.ref).toBe("wider");

    const further = bench.team.commit("wider", 7, () =>
      bench.team.write("models/detector.onnx", detectors.further),
    );
    const second = await bench.review(7, further, base);
    expect(second.annotations.join("\n")).toContain("the comment is brought up to date on #7");
    expect(bench.server.comments.map(({ id }) => id)).toEqual([comment?.id]);
    expect(bench.server.comments[0]?.body).toContain("141");

    const same = bench.team.commit("wider", 7, () =>
      bench.team.write("models/detector.onnx", detectors.anew),
    );
    const third = await bench.review(7, same, base);
    expect([third.exitCode, third.outputs["new-findings"]]).toEqual([0, "0"]);
    expect(bench.server.comments.map(({ id, body }) => [id, body.split("\n")[1]])).toEqual([
      [comment?.id, "<details><summary>tc-lint: nothing moved beyond its interval</summary>"],
    ]);

    const back = bench.team.commit("wider", 7, () =>
      bench.team.write("models/detector.onnx", detectors.aligned),
    );
    const fourth = await bench.review(7, back, base);
    expect([fourth.exitCode, bench.server.comments, fourth.outputs["comment-body"]]).toEqual([0, [], ""]);
    expect(fourth.annotations).toEqual(["::notice title=tc-lint::the comment is taken away from #7"]);
    expect(fourth.summary).toContain("No model differs.");
  });

  test("is stopped by the hook before, and let pass once it is repaired", async () => {
    bench.team.write("models/detector.onnx", detectors.misaligned);
    const stopped = await bench.hook("models/detector.onnx");
    expect([stopped.exitCode, stopped.stdout]).toEqual([1, expect.stringContaining("TC101")]);
    bench.team.write("models/detector.onnx", detectors.aligned);
    expect((await bench.hook("models/detector.onnx")).exitCode).toBe(0);
  });

  test("reports go where they were asked for, with what the changed models have", async () => {
    const base = bench.team.main();
    const head = bench.team.commit("wider", 7, () =>
      bench.team.write("models/detector.onnx", detectors.misaligned),
    );
    const workspace = bench.team.checkout("refs/pull/7/merge");
    const inputs = { "sarif-file": "out/a.sarif", html: "out/a.html", comment: "false", "fail-on": "never" };
    const payload = pullRequestEvent({ number: 7, base, head });
    const { exitCode } = await bench.step({ workspace, event: "pull_request", payload, inputs });
    expect([exitCode, bench.server.requests]).toEqual([0, []]);
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
  const base = bench.team.main();
  const head = bench.team.commit("align", 8, () =>
    bench.team.write("models/segmenter.onnx", segmenters.aligned),
  );
  const { exitCode, annotations, outputs } = await bench.review(8, head, base);
  expect(exitCode, annotations.join()).toBe(0);
  expect(outputs).toMatchObject({ regressions: "0" });
  // In FP16 it pays now, which is worth a warning: no error is new.
  expect(annotations.filter((line) => line.startsWith("::error"))).toEqual([]);
  expect(annotations.at(-1)).toBe("::notice title=tc-lint::commented on #8");
  expect(bench.server.comments[0]?.body).toMatch(/1 faster, \d+ findings fixed/);
});

test("a pull request that only moves a model has nothing to say, and no comment", async () => {
  const base = bench.team.main();
  const head = bench.team.commit("tidy", 9, () => {
    renameSync(
      path.join(bench.team.clone, "models/segmenter.onnx"),
      path.join(bench.team.clone, "segmenter.onnx"),
    );
  });
  const { exitCode, annotations, summary } = await bench.review(9, head, base);
  expect([exitCode, bench.server.comments]).toEqual([0, []]);
  expect(annotations).toEqual(["::notice title=tc-lint::nothing to comment on in #9"]);
  expect(summary).toContain("1 only moved");
  // The hook looks at what is there, moved or not: what was let off before is for a baseline to say.
  expect((await bench.hook("segmenter.onnx")).exitCode).toBe(1);
});

test("a token that may not comment fails nothing, and leaves the comment to a run that may", async () => {
  const base = bench.team.main();
  const head = bench.team.commit("align", 8, () =>
    bench.team.write("models/segmenter.onnx", segmenters.aligned),
  );
  bench.server.fail("GET", [{ status: 403, body: { message: "Resource not accessible by integration" } }]);
  const { exitCode, annotations, outputs } = await bench.review(8, head, base);
  expect(exitCode).toBe(0);
  expect(annotations.at(-1)).toMatch(
    /^::warning .*Resource not accessible by integration; permissions: pull-requests: write/,
  );
  expect(existsSync(outputs["comment-file"] ?? "")).toBe(true);
});

describe("a push", () => {
  test("is compared with what was there before", async () => {
    const before = bench.team.main();
    const after = bench.team.commitToMain(() =>
      bench.team.write("models/detector.onnx", detectors.misaligned),
    );
    const workspace = bench.team.checkout("main");
    const { exitCode, outputs, summary } = await bench.step({
      workspace,
      event: "push",
      payload: pushEvent(before, after),
      sha: after,
    });
    expect([exitCode, bench.server.requests]).toEqual([1, []]);
    expect(outputs).toMatchObject({ regressions: "1" });
    expect(summary).toContain("against `");
  });

  test("of a new branch has nothing to be compared with: every model is linted", async () => {
    const workspace = bench.team.checkout("main");
    const payload = pushEvent("0".repeat(40), bench.team.main());
    const { exitCode, outputs, summary } = await bench.step({ workspace, event: "push", payload });
    expect(exitCode).toBe(1);
    expect(outputs["new-findings"]).toBe(outputs["findings"]);
    expect(summary).toContain("5 models");
  });
});

describe("what is asked for", () => {
  test("is below a folder of the checkout, at lines that another machine called otherwise", async () => {
    const base = bench.team.main();
    const head = bench.team.commit("wider", 7, () =>
      bench.team.write("models/detector.onnx", detectors.misaligned),
    );
    const { annotations } = await bench.review(7, head, base, {
      inputs: {
        "working-directory": "models",
        "source-root": "",
        "path-mapping": "elsewhere=x\nmodels=../src/models",
      },
    });
    expect(annotations[0]).toMatch(/^::error file=src\/models\/backbones\.py,line=\d+,title=TC101/);
  });

  test.each([
    [{ paths: "nowhere" }, /::nowhere: .*(not there|no such|cannot be)/],
    [{ paths: "src\nnowhere*" }, /::paths: "src", "nowhere\*": no \.onnx file there$/],
    [{ paths: "src", base: "main" }, /::paths: "src": no \.onnx file there$/],
    [{ paths: " " }, /paths: is empty/],
    [{ gpu: "h2000" }, /::gpu: found "h2000"/],
    [{ "source-root": "nowhere" }, /::source-root: found "nowhere", expected a folder/],
    [{ "working-directory": "nowhere" }, /expected a folder of the checkout/],
    [{ base: "no-such-branch" }, /base no-such-branch: is not here, and cannot be fetched/],
  ])("is named where it is wrong: %j", async (inputs, message) => {
    const workspace = bench.team.checkout("main");
    const result = await bench.step({ workspace, event: "workflow_dispatch", payload: {}, inputs });
    expect([result.exitCode, result.annotations]).toEqual([2, [expect.stringMatching(message)]]);
    expect(result.annotations[0]).toMatch(/^::error .*title=tc-lint/);
  });
});

test("a path that is not there is named, and the comment stays as it is", async () => {
  const base = bench.team.main();
  const head = bench.team.commit("align", 8, () =>
    bench.team.write("models/segmenter.onnx", segmenters.aligned),
  );
  await bench.review(8, head, base);
  const before = bench.server.comments.map(({ body }) => body);
  const { exitCode, annotations } = await bench.review(8, head, base, { inputs: { paths: "nodir" } });
  expect([exitCode, annotations]).toEqual([
    2,
    [expect.stringMatching(/^::error .*::paths: "nodir": not there/)],
  ]);
  expect(before).toHaveLength(1);
  expect(bench.server.comments.map(({ body }) => body)).toEqual(before);
});

describe("what a change is about", () => {
  test("a configuration that brings budgets fails where they are exceeded, with one number everywhere", async () => {
    const base = bench.team.main();
    const configured = (...budgets: readonly object[]) =>
      bench.team.commit("budgets", 5, () =>
        bench.team.write(
          "models/tc-lint.config.json",
          JSON.stringify({ gpu: "h200", stack: "cudnn", budgets }),
        ),
      );
    const exceeded = await bench.review(5, configured({ gpu: "h200", maxMicroseconds: 1 }), base);
    expect(exceeded.exitCode, exceeded.stderr).toBe(1);
    expect(exceeded.annotations.filter((line) => line.includes("title=tc-lint budget"))).toHaveLength(5);
    expect(exceeded.annotations.join("\n")).toContain("::error title=tc-lint::5 budgets exceeded");
    expect(exceeded.stdout.match(/\d+ budgets? exceeded/g)).toEqual(Array(3).fill("5 budgets exceeded"));
    expect(exceeded.summary.match(/\d+ budgets? exceeded/g)).toEqual(Array(2).fill("5 budgets exceeded"));
    const [comment] = bench.server.comments;
    expect(comment?.body).toMatch(/^\*\*5 budgets exceeded\*\*; 5 models compared/m);
    expect(comment?.body.match(/at most 1 µs; predicted/g)).toHaveLength(5);
    const kept = await bench.review(5, configured({ gpu: "h200", maxMicroseconds: 1e9 }), base);
    expect([kept.exitCode, bench.server.comments]).toEqual([0, []]);
  });

  test("a configuration's models are linted with it; weights' models too, and what else is there is not", async () => {
    bench.team.commitToMain(() => {
      bench.team.write("half/tc-lint.config.json", '{ "gpu": "a100" }\n');
      bench.team.write("half/segmenter.onnx", segmenters.misaligned);
      bench.team.write("weights/segmenter.onnx", segmenters.misaligned);
      bench.team.write("weights/seg_unet_dynamo.weights", new Uint8Array(2 << 20));
    });
    const base = bench.team.main();
    const head = bench.team.commit("config", 3, () => {
      bench.team.write("half/tc-lint.config.json", '{ "gpu": "h200", "stack": "cudnn" }\n');
      bench.team.write("weights/seg_unet_dynamo.weights", new Uint8Array(2 << 20).fill(1));
      bench.team.write("notes.txt", "nothing");
    });
    const { summary, annotations } = await bench.review(3, head, base, { inputs: { "fail-on": "never" } });
    expect([...summary.matchAll(/^## `(.+)`$/gm)].map(([, name]) => name)).toEqual([
      "half/segmenter.onnx",
      "weights/segmenter.onnx",
    ]);
    // Under another configuration all may be new; other weights change nothing that is linted.
    expect(annotations.filter((line) => line.includes("TC101"))).toHaveLength(1);
  });
});
