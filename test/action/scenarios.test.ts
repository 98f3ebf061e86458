/**
 * A team's repository with a baseline, and three pull requests: one misaligns a layer, one repairs one, one only moves a file. What the shipped
 * hook, the Action and GitLab's job say of each.
 */
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { forgeServer } from "../forge/server.ts";
import { detectors, segmenters, type Team } from "./team.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const baseline = "tc-lint-suppressions.json";
const inClone = (...names: readonly string[]) => path.join(bench.team.clone, ...names);

interface Issue {
  readonly check_name: string;
  readonly severity: string;
}

/** GitLab's code quality report of a branch, but for what a baseline has no need to count. */
async function issuesOf(branch: string): Promise<readonly Issue[]> {
  const cwd = bench.team.checkout(branch);
  mkdirSync(path.join(cwd, "out"));
  const flags = ["--pass-on-unpruned-suppressions", "--exit-zero", "-f", "gitlab=out/quality.json"];
  await bench.tcLint([".", "--source-root", "src", ...flags], cwd);
  const issues: readonly Issue[] = JSON.parse(readFileSync(path.join(cwd, "out/quality.json"), "utf8"));
  return issues.filter(({ severity }) => severity !== "info");
}

beforeEach(async () => {
  await bench.tcLint([".", "--suppress-all"], bench.team.clone);
  expect(existsSync(inClone(baseline))).toBe(true);
  bench.team.commitToMain(() => {});
  expect(await issuesOf("main")).toEqual([]);
});

interface PullRequest {
  readonly change: (team: Team) => void;
  /** What a commit has for the hook. */
  readonly files: readonly string[];
  /** Exit code, stdout and stderr of the hook. */
  readonly hook: readonly [exitCode: number, stdout: unknown, stderr: unknown];
  /** Whether the forges' runs do. */
  readonly passes: boolean;
  /** Of both forges; null where there is none. */
  readonly comment: RegExp | null;
  readonly issues: readonly unknown[];
}

const requests: Readonly<Record<string, PullRequest>> = {
  "misaligns a layer": {
    change: (team) => team.write("models/detector.onnx", detectors.misaligned),
    files: ["models/detector.onnx"],
    hook: [1, expect.stringContaining("TC101"), expect.stringContaining("which --fail-on fixable fails")],
    passes: false,
    comment: /1 slower[\s\S]*new error\*\* TC101/,
    issues: [expect.objectContaining({ check_name: expect.stringMatching(/^TC101/), severity: "major" })],
  },
  "repairs one": {
    change: (team) => team.write("models/segmenter.onnx", segmenters.aligned),
    files: ["models/segmenter.onnx"],
    hook: [2, expect.any(String), expect.stringMatching(/found 0\n.*--prune-suppressions takes it out/)],
    passes: true,
    comment: /1 faster, \d+ findings fixed/,
    issues: [],
  },
  "only moves a file": {
    change: ({ clone }) =>
      renameSync(path.join(clone, "models/segmenter.onnx"), path.join(clone, "segmenter.onnx")),
    files: ["segmenter.onnx"],
    hook: [0, expect.any(String), expect.stringContaining('"models/segmenter.onnx" is "segmenter.onnx" now')],
    passes: true,
    comment: null,
    issues: [],
  },
};

describe.each(Object.entries(requests))("a pull request that %s", (_, asked) => {
  const opened = () => {
    const base = bench.team.main();
    return { base, head: bench.team.commit("change", 7, () => asked.change(bench.team)) };
  };

  test("is let through by the hook, or stopped", async () => {
    asked.change(bench.team);
    const { exitCode, stdout, stderr } = await bench.hook(...asked.files);
    expect([exitCode, stdout, stderr]).toEqual(asked.hook);
    if (!asked.passes) return;
    // What a repair leaves behind in the baseline goes with it.
    await bench.tcLint([...asked.files, "--prune-suppressions"], bench.team.clone);
    expect(await bench.hook(...asked.files)).toMatchObject({ exitCode: 0, stderr: "" });
  });

  test("passes the Action, or fails it, with one comment or none; a run without a token says the same", async () => {
    const { base, head } = opened();
    const { exitCode, summary } = await bench.review(7, head, base);
    expect(exitCode).toBe(asked.passes ? 0 : 1);
    expect(bench.server.comments.map(({ body }) => body)).toEqual(
      asked.comment === null ? [] : [expect.stringMatching(asked.comment)],
    );
    if (asked.comment === null) expect(summary).toContain("1 only moved");
    const before = bench.server.requests.length;
    const fork = await bench.review(7, head, base, { inputs: { token: "" } });
    expect([fork.exitCode, fork.outputs["new-findings"]]).toEqual([
      exitCode,
      asked.passes ? expect.any(String) : expect.stringMatching(/^[1-9]/),
    ]);
    expect(bench.server.requests).toHaveLength(before);
  });

  test("has one note on GitLab or none, and the issues that are new", async () => {
    const gitlab = await forgeServer("gitlab");
    try {
      const { base } = opened();
      const { exitCode } = await bench.pipeline({ api: gitlab.url, branch: "change", base });
      expect(exitCode).toBe(asked.passes ? 0 : 1);
      expect(gitlab.comments.map(({ body }) => body)).toEqual(
        asked.comment === null ? [] : [expect.stringMatching(asked.comment)],
      );
      const issues = await issuesOf("change");
      expect(issues.filter(({ check_name: name }) => name.startsWith("TC101"))).toEqual(asked.issues);
    } finally {
      await gitlab.close();
    }
  });
});
