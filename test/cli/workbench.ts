/** @file What tests of the command line share: a build, a folder for each test, and runs in it. */
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import type { LintReport } from "../../src/lint/result.ts";
import { type BuiltCli, buildCli } from "../cli-process.ts";
import { type Folder, temporaryFolder } from "./models.ts";
import { type Run, type RunOptions, run } from "./run.ts";

export interface Workbench {
  /** The built executable, for runs that a test steers. */
  readonly script: string;
  /** New and empty for each test. */
  readonly folder: Folder;
  /** Runs in the folder. */
  tcLint(args: readonly string[], options?: Partial<RunOptions>): Promise<Run>;
  /** The JSON report of a run that says nothing on stderr. */
  jsonOf(args: readonly string[]): Promise<LintReport>;
}

/** Called at the top of a test file. */
export function useWorkbench(): Workbench {
  let cli: BuiltCli | undefined;
  let folder: Folder | undefined;
  beforeAll(() => {
    cli = buildCli();
  });
  afterAll(() => cli?.[Symbol.dispose]());
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => folder?.[Symbol.dispose]());
  const bench: Workbench = {
    get script() {
      if (cli === undefined) throw new Error("there is a command line during tests only");
      return cli.script;
    },
    get folder() {
      if (folder === undefined) throw new Error("there is a folder during tests only");
      return folder;
    },
    tcLint(args, options = {}) {
      if (cli === undefined) throw new Error("there is a command line during tests only");
      return run(cli, args, { cwd: bench.folder.path, ...options });
    },
    async jsonOf(args) {
      const { stdout, stderr } = await bench.tcLint([...args, "-f", "json"]);
      expect(stderr).toBe("");
      return JSON.parse(stdout);
    },
  };
  return bench;
}

export const onlyHead = ["--select", "misaligned-gemm"];
