/** @file Whichever call on files fails. All kinds of failures over all scenarios: npm run faults. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BuiltCli, buildCli } from "../cli-process.ts";
import { runSweep } from "./run-sweep.ts";
import type { SweepRequest } from "./sweep.ts";

let cli: BuiltCli;
beforeAll(() => {
  cli = buildCli();
});
afterAll(() => cli[Symbol.dispose]());

type Swept = Pick<SweepRequest, "kinds" | "lasts" | "names"> & { readonly least: number };

const reading = ["lint", "print-config", "bench --plan", "--diff"];
const writing = ["--fix of external data", "--fix-output of external data"];

describe("whichever call on files fails, the run says so or succeeds, and nothing is lost, torn or left", () => {
  it.each<readonly [what: string, swept: Swept]>([
    ["by EIO, of runs that write nothing", { kinds: ["EIO"], lasts: false, names: reading, least: 150 }],
    ["by EACCES, of a report", { kinds: ["EACCES"], lasts: false, names: ["lint -o"], least: 30 }],
    ["by EIO, of a process that runs models", { kinds: ["EIO"], lasts: false, names: ["verify"], least: 15 }],
    ["by EIO, of a fix", { kinds: ["EIO"], lasts: false, names: writing, least: 250 }],
    [
      "by reading or writing less, or nothing",
      { kinds: ["short", "nothing"], lasts: false, names: writing, least: 60 },
    ],
    [
      "by a disk that is full from then on",
      { kinds: ["ENOSPC"], lasts: true, names: ["lint -o", ...writing], least: 40 },
    ],
    [
      "by a disk that is read-only from then on",
      { kinds: ["EROFS"], lasts: true, names: ["--fix"], least: 12 },
    ],
  ])(
    "%s",
    async (_, { least, ...swept }) => {
      const { runs, violations } = await runSweep({
        script: cli.script,
        isThorough: false,
        isQuick: false,
        ...swept,
      });
      expect(violations).toEqual([]);
      expect(runs).toBeGreaterThan(least);
    },
    240_000,
  );
});
