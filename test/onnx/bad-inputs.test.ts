import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inferFacts } from "../../src/facts/infer.ts";
import { InputError } from "../../src/ir/errors.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { type BuiltCli, buildCli, type CliRun, runCli } from "../cli-process.ts";
import { byteCases, smallModel } from "./bad-inputs/bytes.ts";
import type { BadInput, Expected } from "./bad-inputs/case.ts";
import { externalCases } from "./bad-inputs/external.ts";
import { graphCases } from "./bad-inputs/graphs.ts";
import { tensorCases } from "./bad-inputs/tensors.ts";

const maxCpuSeconds = 2;
const maxPeakBytes = 300e6;
/** Of the clock, which other processes share: only a hang takes this long. */
const timeoutSeconds = 30;

const cases: readonly BadInput[] = [...byteCases, ...tensorCases, ...externalCases, ...graphCases];

interface Report {
  readonly models: readonly {
    readonly error: { readonly code: string; readonly message: string } | null;
    readonly notices: readonly { readonly code: string }[];
    readonly skipped: readonly unknown[];
  }[];
}

describe("Bad inputs to survive", () => {
  let cli: BuiltCli | undefined;
  let folder = "";
  let worst = { cpuSeconds: 0, peakBytes: 0 };
  beforeAll(() => {
    cli = buildCli();
  });
  afterAll(() => {
    cli?.[Symbol.dispose]();
    console.log(
      `bad inputs: at most ${worst.cpuSeconds.toFixed(2)} s of CPU time and ${(worst.peakBytes / 1e6).toFixed(0)} MB`,
    );
  });

  it.each(cases.map((bad) => [bad.number, bad.title, bad] as const))("%i: %s", async (_, __, bad) => {
    folder = mkdtempSync(path.join(tmpdir(), "tc-lint-bad-"));
    try {
      if (cli === undefined) throw new Error("the command line was not built");
      const run = await runCli(cli, [bad.write(folder), "--format", "json", "--exit-zero"], {
        timeoutSeconds,
      });
      expectOutcome(run, bad.expect);
      expect(run.cpuSeconds).toBeLessThan(maxCpuSeconds);
      expect(run.peakBytes).toBeLessThan(maxPeakBytes);
      worst = {
        cpuSeconds: Math.max(worst.cpuSeconds, run.cpuSeconds),
        peakBytes: Math.max(worst.peakBytes, run.peakBytes),
      };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("3: a model cut off at every offset is refused by name, or still a model", () => {
    const bytes = smallModel();
    const codes = new Map<string, number>();
    for (let length = 0; length < bytes.length; length++) {
      const code = codeOf(bytes.subarray(0, length));
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    expect(codeOf(bytes)).toBe("fine");
    // Cut between two fields, what is left may be a model without its functions or its name.
    expect(codes.get("fine") ?? 0).toBeLessThan(5);
    expect(codes.get("truncated")).toBeGreaterThan(0.9 * bytes.length);
  });

  it("cover every number from 1 to 55", () => {
    const covered = new Set(cases.map(({ number }) => number));
    const missing = Array.from({ length: 55 }, (_, index) => index + 1).filter(
      (number) => !covered.has(number),
    );
    // 3 is above; 37 needs a swap between two calls and is in external.test.ts.
    expect(missing).toEqual([3, 37]);
  });
});

/** The code a model is refused with; any other exception is the test's. */
function codeOf(bytes: Uint8Array): string {
  try {
    using model = modelFromBytes(bytes);
    inferFacts(model);
    return "fine";
  } catch (error) {
    if (error instanceof InputError) return error.code;
    throw error;
  }
}

function expectOutcome({ exitCode, stdout, stderr }: CliRun, expected: Expected): void {
  if (typeof expected === "object" && "stderr" in expected) {
    const failed: { readonly errors?: readonly { readonly message: string }[] } = JSON.parse(stdout);
    expect(exitCode).toBe(2);
    expect(failed.errors?.map(({ message }) => message).join()).toContain(expected.stderr);
    expect(stderr).toContain(expected.stderr);
    return;
  }
  expect(stderr + stdout).not.toMatch(/^\s+at .*:\d+:\d+\)?$/m);
  const report: Report = stdout === "" ? { models: [] } : JSON.parse(stdout);
  const [model] = report.models;
  const outcome = {
    exitCode,
    error: model?.error?.code ?? (exitCode === 2 ? stderr : undefined),
    notices: (model?.notices ?? []).map(({ code }) => code),
    skipped: model?.skipped.length ?? 0,
  };
  if (expected === "fine")
    expect(outcome).toEqual({ exitCode: 0, error: undefined, notices: [], skipped: 0 });
  else if ("notice" in expected)
    expect(outcome).toMatchObject({ exitCode: 0, error: undefined, notices: [expected.notice].flat() });
  else if ("skipped" in expected)
    expect(outcome).toMatchObject({ exitCode: 0, error: undefined, skipped: expected.skipped });
  else {
    expect(outcome).toMatchObject({ exitCode: 2, error: expected.error });
    expect(model?.error?.message).toContain(expected.says ?? "");
  }
}
