/** The one comment of a pull request: whether there is to be one, and that a forge takes it. */
import { expect, test } from "vitest";
import { compare } from "../../src/api/compare.ts";
import type { ModelComparison } from "../../src/compare/result.ts";
import { compareReportOf } from "../../src/compare/summary.ts";
import { wantedComment } from "../../src/report/compare-comment.ts";
import { network } from "../compare/models.ts";

const options = {
  describeTarget: ({ gpu }: { gpu: string }) => gpu,
  head: "a".repeat(40),
  run: "https://ci.example/1",
};
const target = { gpu: "h200", stack: "cudnn" } as const;
const wanted = (models: readonly ModelComparison[]) =>
  wantedComment(compareReportOf({ base: null, models, unchanged: [] }, "1.2.3"), options);

test("a change that moves something has one, one that moves nothing a folded line, and one of nothing none", async () => {
  const moved = await compare(network(), network({ widths: [256, 250, 512] }), target);
  const still = await compare(network(), network(), target);
  expect(wanted([moved, still])).toMatchObject({
    kind: "comment",
    body: expect.stringMatching(/^\*\*.*1 slower\*\*/),
  });
  expect(wanted([still])).toMatchObject({
    kind: "where-there",
    body: expect.stringMatching(
      /^<details><summary>.*<\/summary>\n\n[\s\S]*`a{12}`; \[the run\]\(https:\/\/ci\.example\/1\)[\s\S]*<\/details>\n$/,
    ),
  });
  expect(wanted([{ ...still, status: "moved" }])).toEqual({ kind: "none" });
  expect(wanted([])).toEqual({ kind: "none" });
});

test("however many models there are and whatever they are called, it stays below GitHub's 65,536 characters", async () => {
  const moved = await compare(network(), network({ widths: [256, 250, 512] }), target);
  for (const letter of ["m", "&", "👩"]) {
    const models = Array.from({ length: 500 }, (_, index) => ({
      ...moved,
      path: `${letter.repeat(4000)}${index}`,
    }));
    const comment = wanted(models);
    if (comment.kind === "none") throw new Error("nothing is said");
    expect(comment.body.length).toBeLessThan(65_000);
    expect(comment.body).toMatch(/^\*\*.*500 slower/);
    expect(comment.body).toContain("<sub>Times are predicted");
  }
});
