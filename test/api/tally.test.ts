/** What is said of work on several models. */
import { expect, test } from "vitest";
import { inLanes } from "../../src/api/compare-lanes.ts";
import { progressText } from "../../src/api/tally.ts";

const noThreads = new URL("file:///none.js");
const noun = "models";
const labelOf = (item: string) => item;

async function saidOf(items: readonly string[]): Promise<string[]> {
  const said: string[] = [];
  const request = {
    jobs: 1,
    workerUrl: noThreads,
    limits: {},
    onProgress: (what: string) => void said.push(what),
  };
  await inLanes(items, request, { noun, labelOf }, (item) => Promise.resolve(item));
  return said;
}

test("comparisons say how many of them are done", async () => {
  expect(await saidOf(["a.onnx", "b.onnx"])).toEqual([
    "0 of 2 models: a.onnx …",
    "1 of 2 models …",
    "1 of 2 models: b.onnx …",
    "2 of 2 models …",
  ]);
});

test("of one model its name is said", async () => {
  expect((await saidOf(["a.onnx"]))[0]).toBe("a.onnx …");
});

test("a machine of many cores does not fill the line with names", () => {
  const running = ["a", "b", "c", "d", "e", "f"];
  expect(progressText({ done: 3, total: 90, running })).toBe("3 of 90 models: a, b, c, d and 2 more");
});
