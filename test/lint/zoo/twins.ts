/** @file Two exporters write one network: its account is the same, or what differs has a name and an end, which both have in common. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import {
  explainedRatio,
  ratioOf,
  stepsBetween,
  type TwinStep,
  twinHalves,
} from "../../../bench/twin-accounts.ts";
import { withMasks } from "../../../bench/twin-files.ts";
import type { StackId } from "../../../src/hardware/stacks.ts";
import { zooModel, zooNames } from "../../zoo.ts";
import type { ZooReports } from "./reports.ts";

const twins = zooNames.filter((name) => zooNames.includes(`${name}_dynamo`));
/** A ratio within 3 % of 1. */
const isAlike = (ratio: number) => Math.abs(ratio - 1) < 0.03;

/** One stack that runs a kernel a node, two that join some, and a planner: what a Cast in the wrong place costs is another on each. */
const halfOn: ReadonlySet<StackId> = new Set<StackId>(["cudnn", "ort-cuda", "tensorrt", "tc-runtime"]);

export function testTwins(reports: ZooReports): void {
  const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-twins-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const filesOf = (name: string) =>
    [withMasks(zooModel(name), folder), withMasks(zooModel(`${name}_dynamo`), folder)] as const;
  const stepsOf = async (name: string): Promise<TwinStep[]> => {
    const [script, dynamo] = filesOf(name);
    return stepsBetween(await reports.of(script), await reports.of(dynamo));
  };

  it.each(twins)(
    "%s takes what its dynamo export takes, within 3 %, or findings say why",
    async (name) => {
      const steps = await stepsOf(name);
      expect(steps.length).toBeGreaterThan(0);
      // Behind the last step, nobody's finding is left to say why.
      expect(ratioOf(steps.at(-1) ?? { script: 0, dynamo: 1 })).toSatisfy(isAlike);
      for (const each of steps)
        expect([ratioOf(each), explainedRatio(each)], each.step).toSatisfy((all: number[]) =>
          all.some(isAlike),
        );
    },
    60_000,
  );

  it.each(halfOn.has(reports.stack) ? twins : [])(
    "%s, written in half precision, takes what its dynamo export takes, or what was said before",
    async (name) => {
      const half = await twinHalves(...filesOf(name), reports.stack);
      if (half === undefined) return console.warn(`skipped: ${name} needs its weights`);
      const steps = await stepsOf(name);
      const causes = steps.findLast(({ step }) => step !== "author")?.causes ?? new Map<string, number>();
      const ratios = [ratioOf(half), explainedRatio({ ...half, causes })];
      expect(ratios).toSatisfy((all: number[]) => all.some(isAlike));
    },
    60_000,
  );
}
