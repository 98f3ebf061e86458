/** A table whose last column may be more than its first says why, under it, and says nothing where it is not. */
import { expect, it } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { afterAllNote } from "../../src/report/closing-table.ts";
import { renderHtml } from "../../src/report/html/page.ts";
import { standingOf } from "../../src/report/standing.ts";
import { reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { zooModel } from "../zoo.ts";
import { options } from "./sample.ts";

it.each([
  ["a file in half has Casts", ["llama", "resnet50"], true],
  ["half that is not sure to gain is left out", ["espcn", "resnet50"], true],
  ["all files end below what they are predicted", ["resnet50", "gpt2_dynamo"], false],
])("%s", async (_, names, isSaid) => {
  const models = await Promise.all(names.map((name) => lint(zooModel(name))));
  const isBehind = models.some((model) => {
    const { now = 0, afterAll = 0 } = standingOf(model) ?? {};
    return afterAll > now;
  });
  expect(isBehind).toBe(isSaid);
  const report = reportOf(models, "1");
  for (const render of [renderText, renderHtml])
    expect(render(report, options).includes("after all may exceed predicted")).toBe(isSaid);
  expect(afterAllNote(models) !== undefined).toBe(isSaid);
});
