/** Models that cost much for their size, within limits of time and memory (docs/adr/0014-budgets.md). */
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { writeFamily } from "../../bench/scale-models.ts";
import { writeInline } from "../fix/models.ts";
import { bytesOf, cleanModel, type Folder, temporaryFolder } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
/** 200,000 nodes in 5 MB: seconds of work, and hundreds of megabytes. */
const costly = "costly.onnx";
const soon = ["--timeout", "0.05"];
const small = ["--memory-gb", "0.25"];

let made: Folder | undefined;
beforeAll(() => {
  made = temporaryFolder();
  writeFamily(path.join(made.path, costly), "adds", 200_000);
});
afterAll(() => made?.[Symbol.dispose]());

beforeEach(() => {
  copyFileSync(path.join(made?.path ?? "", costly), path.join(bench.folder.path, costly));
  bench.folder.write("good.onnx", bytesOf(cleanModel()));
});

describe("within its limits", () => {
  const commands: readonly (readonly [what: string, args: readonly string[], doing: string])[] = [
    ["lint", [costly], "linting"],
    ["the difference of a fix", ["--diff", costly], "fixing"],
    ["a fix", ["--fix", "--fix-only", "--no-verify", costly], "fixing"],
    ["a fix in half precision", ["--fix", "--precision", "fp16", "--no-verify", costly], "fixing"],
    ["a plan", ["bench", "--plan", costly], "planning"],
  ];
  it.each(commands)(
    "%s ends at the deadline, with the model's name and exit code 2",
    async (_, args, doing) => {
      const { exitCode, stdout, stderr } = await bench.tcLint([...args, ...soon]);
      expect(exitCode).toBe(2);
      expect(stdout + stderr).toContain(
        `${costly}: ${doing} it was stopped after 0.05 s; --timeout allows more`,
      );
      expect(stdout + stderr).not.toContain("bug");
      expect(readdirSync(bench.folder.path).sort()).toEqual([costly, "good.onnx"]);
    },
  );

  it.each(commands)("%s ends where memory does, by name", async (_, args, doing) => {
    const { exitCode, stdout, stderr } = await bench.tcLint([...args, ...small]);
    expect(exitCode).toBe(2);
    expect(stdout + stderr).toContain(
      `${costly}: ${doing} it was stopped: it takes more than 256 MiB of memory`,
    );
    expect(stdout + stderr).not.toContain("bug");
    expect(readdirSync(bench.folder.path).sort()).toEqual([costly, "good.onnx"]);
  });

  it("takes limits that are numbers above 0", async () => {
    for (const args of [
      ["--timeout", "0"],
      ["--timeout", "soon"],
      ["--memory-gb", "-1"],
    ]) {
      const { exitCode, stderr } = await bench.tcLint(["good.onnx", ...args]);
      expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/expected a number above 0/)]);
    }
  });

  it.each([
    ["good.onnx"],
    ["--diff", "good.onnx"],
    ["verify", "good.onnx", "good.onnx"],
    ["bench", "--plan", "good.onnx"],
  ])("takes no limit of memory that Node itself passes: %s %s %s", async (...args) => {
    for (const limit of ["0.05", "0.0001", "0.1249"]) {
      const { exitCode, stdout, stderr } = await bench.tcLint([...args, "--memory-gb", limit]);
      expect([exitCode, stdout]).toEqual([2, ""]);
      expect(stderr).toContain(
        `--memory-gb: "${limit}" is too little; expected at least 0.125, which Node itself may take`,
      );
    }
  });

  it("stays out of the way of what fits", async () => {
    const { exitCode, stderr } = await bench.tcLint(["good.onnx", "--timeout", "60", "--memory-gb", "2"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
  });
});

describe("of several models", () => {
  it("one that takes too much is named, the others are linted", async () => {
    const { exitCode, stdout } = await bench.tcLint([
      costly,
      "good.onnx",
      "-f",
      "json",
      "--memory-gb",
      "0.125",
    ]);
    expect(exitCode).toBe(2);
    const { models }: { models: { path: string; nodes: number; error: { code: string } | null }[] } =
      JSON.parse(stdout);
    expect(models.map((model) => [model.path, model.error?.code ?? null])).toEqual([
      [costly, "out-of-memory"],
      ["good.onnx", null],
    ]);
    expect(models[1]?.nodes).toBeGreaterThan(0);
  });

  it("one that takes too much is not repaired, the others are", async () => {
    writeInline(bench.folder.path);
    const args = ["--fix", "--fix-only", "--no-verify", costly, "model.onnx", "-f", "json", ...small];
    const { exitCode, stdout, stderr } = await bench.tcLint(args);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`${costly}: fixing it was stopped`);
    const { fixes }: { fixes: { path: string; written: boolean; error: { code: string } | null }[] } =
      JSON.parse(stdout);
    expect(fixes).toMatchObject([
      { path: costly, error: { code: "out-of-memory" } },
      { path: "model.onnx", written: true, error: null },
    ]);
  });
});

describe("V8's own limit", () => {
  it.each([[[costly]], [[costly, "good.onnx"]]])(
    "ends the work on a model, not the process: %j",
    async (models) => {
      const env = { NODE_OPTIONS: "--max-old-space-size=120" };
      const { exitCode, signal, stdout, stderr } = await bench.tcLint([...models, "-f", "json"], { env });
      expect([exitCode, signal, stderr]).toEqual([2, null, ""]);
      const report: { models: { error: { code: string } | null }[] } = JSON.parse(stdout);
      const codes = report.models.map(({ error }) => error?.code ?? null);
      expect(codes).toEqual(["out-of-memory", null].slice(0, models.length));
    },
  );
});

describe("V8's own limit, of what is not begun again in a thread", () => {
  const commands = [
    ["--diff", costly],
    ["--fix", "--fix-only", "--no-verify", costly],
    ["--fix", "--fix-only", "--precision", "fp16", "--no-verify", costly],
    ["bench", "--plan", costly],
  ];
  const cases = commands.flatMap((args) =>
    [64, 120, 200].map((limit) => [args.join(" "), limit, args] as const),
  );
  it.each(cases)("%s in %i MiB is refused by name, and nothing is written", async (_, limit, args) => {
    const before = readFileSync(path.join(bench.folder.path, costly));
    const env = { NODE_OPTIONS: `--max-old-space-size=${limit}` };
    const { exitCode, signal, stdout, stderr } = await bench.tcLint(args, { env });
    expect([exitCode, signal, stdout]).toEqual([2, null, ""]);
    expect(stderr).toMatch(
      /costly\.onnx: (fixing|planning) it was stopped: it takes more than .*--max-old-space-size/,
    );
    // Of a limit, the one that was set: what the program leaves of it is 0 B.
    const named = /more than V8's limit of (\d+) MiB/.exec(stderr)?.[1];
    expect([undefined, String(limit)]).toContain(named);
    expect(stderr).not.toMatch(/more than (\d B|\d MiB) /);
    expect(readdirSync(bench.folder.path).sort()).toEqual([costly, "good.onnx"]);
    expect(readFileSync(path.join(bench.folder.path, costly)).equals(before)).toBe(true);
  });
});

describe("Ctrl-C", () => {
  it.each([
    ["lint", [costly]],
    ["a fix", ["--fix", costly]],
  ])("ends %s that is at work", async (_, args) => {
    const { exitCode, signal, stderr } = await bench.tcLint(args, { interruptAfterMilliseconds: 1000 });
    expect(signal === "SIGINT" || exitCode === 130).toBe(true);
    expect(stderr).not.toContain("bug");
    expect(readdirSync(bench.folder.path).sort()).toEqual([costly, "good.onnx"]);
  });
});
