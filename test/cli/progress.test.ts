/** When a run says how far it is, and where: by a clock that the test turns. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Progress, withProgress } from "../../src/cli/progress.ts";
import { complain } from "../../src/cli/stderr.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
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
