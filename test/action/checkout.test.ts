/** What a step stands in: a checkout of another user, as in a container; of the branch itself; none at all; without objects of Git LFS. */
import { mkdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { git, lfsPointerOf } from "../cli/repository.ts";
import { pullRequestEvent } from "./payloads.ts";
import { detectors, segmenters } from "./team.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

/** Git's own way to test what it does in the checkout of somebody else. */
const ofAnother = { GIT_TEST_ASSUME_DIFFERENT_OWNER: "1" };

function misaligned() {
  const base = bench.team.main();
  const head = bench.team.commit("wider", 7, () =>
    bench.team.write("models/detector.onnx", detectors.misaligned),
  );
  return { base, head, payload: pullRequestEvent({ number: 7, base, head }) };
}

describe("a checkout", () => {
  test("that belongs to another user is read, below its root too", async () => {
    const { base, payload } = misaligned();
    const workspace = bench.team.checkout("refs/pull/7/merge");
    // The remote is of this machine here, and nobody else's.
    git(workspace, "fetch", "-q", "--depth=1", "origin", base);
    for (const inputs of [{}, { "working-directory": "models", "source-root": "../src" }]) {
      const step = { workspace, event: "pull_request", payload, env: ofAnother, inputs };
      const { exitCode, annotations } = await bench.step(step);
      expect([exitCode, annotations[0]]).toEqual([1, expect.stringContaining("::error file=src/models/")]);
    }
  });

  test("of the branch that does not reach its base is compared with the base as it is, and that is said", async () => {
    const { head } = misaligned();
    const base = bench.team.commitToMain(() => bench.team.write("models/segmenter.onnx", segmenters.aligned));
    const payload = pullRequestEvent({ number: 7, base, head });
    const step = { workspace: bench.team.checkout("wider"), event: "pull_request", payload };
    const { exitCode, annotations } = await bench.step(step);
    expect([exitCode, annotations[0]]).toEqual([
      1,
      expect.stringMatching(/^::warning .*where the branch left its base is not in this checkout/),
    ]);
  });

  test("that is none is named, with what makes it one", async () => {
    const { payload } = misaligned();
    const workspace = path.join(bench.team.folder, "empty");
    mkdirSync(workspace);
    const { exitCode, annotations } = await bench.step({ workspace, event: "pull_request", payload });
    expect([exitCode, annotations]).toEqual([
      2,
      [expect.stringMatching(/^::error .*is in no Git repository: actions\/checkout comes before/)],
    ]);
  });

  test("without what Git LFS has of the base says in an error why it is not compared", async () => {
    bench.team.commitToMain(() =>
      bench.team.write("models/detector.onnx", lfsPointerOf(bench.team.clone, detectors.aligned, false)),
    );
    const { base, head } = misaligned();
    const { exitCode, annotations } = await bench.review(7, head, base);
    expect(exitCode).toBe(2);
    expect(annotations[0]).toMatch(
      /^::error title=tc-lint::models\/detector\.onnx is not compared: .*Git LFS has its content/,
    );
  });
});
