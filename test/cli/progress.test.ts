/** When a run says how far it is, and where: by a clock that the test turns. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { Progress, withProgress } from "../../src/cli/progress.ts";
import { complain } from "../../src/cli/stderr.ts";
import { temporaryFolder } from "./models.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "hrtime"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const erased = "\r\u001b[2K";
const models = 54;

function newRun(isTerminal: boolean) {
  const seen: string[] = [];
  const say = (text: string) => seen.push(text);
  const progress = new Progress({ isTerminal, columns: 40, write: say, log: say });
  return { seen, progress };
}

/** Models one after another, each shorter than the patience that a run has. */
async function runModels(progress: Progress, millisecondsEach: number): Promise<void> {
  for (let done = 0; done < models; done++)
    await withProgress((say) => {
      say(`${done} of ${models} models: m${done}.onnx`);
      vi.advanceTimersByTime(millisecondsEach);
    }, progress);
}

test("many models of less than a second each show in a terminal from the first second of the run on", async () => {
  const { seen, progress } = newRun(true);
  await runModels(progress, 300);
  expect(seen[0]).toBe(`${erased}3 of 54 models: m3.onnx`);
  expect(seen.filter((text) => text !== erased)).toHaveLength(models - 3);
  expect(seen.at(-1)).toBe(erased);
});

test("a run of less than a second shows nothing, in a terminal or elsewhere", async () => {
  for (const isTerminal of [true, false]) {
    const { seen, progress } = newRun(isTerminal);
    await runModels(progress, 18);
    expect(seen).toEqual([]);
    vi.advanceTimersByTime(60_000);
    expect(seen).toEqual([]);
  }
});

test("elsewhere a line after ten seconds, and whenever the run has taken twice as long", async () => {
  const { seen, progress } = newRun(false);
  await runModels(progress, 1000);
  expect(seen).toEqual([
    "after 10 s: 9 of 54 models: m9.onnx",
    "after 20 s: 19 of 54 models: m19.onnx",
    "after 40 s: 39 of 54 models: m39.onnx",
  ]);
});

test("what is said in the first second, and is all that is said for long, shows when the second is over", () => {
  const { seen, progress } = newRun(true);
  progress.show("0 of 2 models: large.onnx, the-larger-one.onnx");
  vi.advanceTimersByTime(999);
  expect(seen).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(seen).toEqual([`${erased}0 of 2 models: large.onnx, the-larger-o`]);
  progress.erase();
  vi.advanceTimersByTime(60_000);
  expect(seen).toHaveLength(2);
});

test("elsewhere what goes on for long says so without being told anew", () => {
  const { seen, progress } = newRun(false);
  progress.show("large.onnx: comparing …");
  vi.advanceTimersByTime(45_000);
  progress.erase();
  expect(seen).toEqual([10, 20, 40].map((seconds) => `after ${seconds} s: large.onnx: comparing …`));
});

test("a second count of a run's models says what it is of: no model is counted twice", async () => {
  const { seen, progress } = newRun(true);
  vi.advanceTimersByTime(1000);
  progress.show("2 of 3 models: c.onnx: fixing …");
  progress.enter("linting");
  progress.show("0 of 3 models: a.onnx");
  expect(seen).toEqual([
    `${erased}2 of 3 models: c.onnx: fixing …`,
    `${erased}linting: 0 of 3 models: a.onnx`,
  ]);
});

test("--fix counts what it fixes, and then what it lints", async () => {
  using folder = temporaryFolder();
  for (const name of ["a.onnx", "b.onnx"])
    folder.write(name, readFileSync("fixtures/models/aligned-mlp.onnx"));
  const shown: string[] = [];
  const show = vi.spyOn(Progress.prototype, "show").mockImplementation((text) => void shown.push(text));
  const enter = vi.spyOn(Progress.prototype, "enter").mockImplementation((stage) => void shown.push(stage));
  const written = vi.spyOn(process.stdout, "write").mockImplementation((_text, ...rest) => {
    const done: unknown = rest.at(-1);
    if (typeof done === "function") done();
    return true;
  });
  vi.useRealTimers();
  try {
    const paths = ["a.onnx", "b.onnx"].map((name) => path.join(folder.path, name));
    await main(["--fix", "--no-verify", "--no-config", "--exit-zero", ...paths], new URL("file:///none"));
  } finally {
    for (const spy of [show, enter, written]) spy.mockRestore();
  }
  const counts = shown.flatMap((text) => /^\d of \d models|^linting$/.exec(text) ?? []);
  const fixing = counts.slice(0, counts.indexOf("linting"));
  expect([...new Set(fixing)]).toEqual(["0 of 2 models", "1 of 2 models"]);
});

test("what is said meanwhile stands on a line of its own, and progress behind it", () => {
  const { seen, progress } = newRun(true);
  const written = vi.spyOn(process.stderr, "write").mockImplementation((text) => seen.push(String(text)) > 0);
  try {
    vi.advanceTimersByTime(1000);
    progress.show("a.onnx: comparing …");
    complain("b.onnx: not read");
    progress.show("c.onnx: comparing …");
    progress.erase();
    complain("done");
  } finally {
    written.mockRestore();
  }
  expect(seen).toEqual([
    `${erased}a.onnx: comparing …`,
    erased,
    "tc-lint: b.onnx: not read\n",
    `${erased}c.onnx: comparing …`,
    erased,
    "tc-lint: done\n",
  ]);
});
