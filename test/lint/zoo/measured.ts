/** @file What an account says of whole runs on the bundled runtime, held to what they took on an H200: nine of ten are inside. */
import { expect, test } from "vitest";
import { measuredRows } from "../../cuda-runtime/cost/measured-ways.ts";
import { isWholeZoo, zooModel, zooNames } from "../../zoo.ts";
import type { ZooReports } from "./reports.ts";

interface Run {
  readonly model?: string;
  readonly microseconds: number;
}

const byModel = (file: string) =>
  new Map(measuredRows<Run>(file).map(({ model, microseconds }) => [model, microseconds]));

/** As the files are stored, in FP32, and in FP16. */
const stored = byModel("h200-runtime-stored.jsonl");
const inFp16 = byModel("h200-runtime-runs.jsonl");

/** Of each model what was measured, and the account's state of it. */
async function measuredStates(reports: ZooReports) {
  const states = [];
  for (const name of zooNames) {
    const { account } = await reports.of(zooModel(name));
    const [before, after] = [stored.get(name), inFp16.get(name)];
    const [exported, half] = [account[0], account.find(({ step }) => step === "precision")];
    if (before === undefined || after === undefined || exported === undefined) continue;
    states.push({ name, before, after, exported, half });
  }
  return states;
}

export function testMeasured(reports: ZooReports): void {
  test("nine of ten whole runs are inside their intervals, in FP32 and in FP16", async () => {
    const states = await measuredStates(reports);
    const isInside = (took: number, { low, high }: { readonly low: number; readonly high: number }) =>
      low <= took && took <= high;
    const inside = {
      fp32: states.filter(({ before, exported }) => isInside(before, exported)).length,
      fp16: states.filter(({ after, half }) => half === undefined || isInside(after, half)).length,
    };
    // Of the few of fixtures/zoo two are the one network that is furthest off.
    const least = (isWholeZoo ? 0.9 : 0.85) * states.length;
    expect(inside.fp32).toBeGreaterThanOrEqual(least);
    expect(inside.fp16).toBeGreaterThanOrEqual(least);
  }, 120_000);

  test("what FP16 saves of a run is claimed where it saves a fifth, and nowhere where it loses", async () => {
    const states = await measuredStates(reports);
    const claimed = (is: boolean) =>
      states.filter(({ half }) => (half?.command !== undefined) === is).map(({ name }) => name);
    const saves = ({ before, after }: { readonly before: number; readonly after: number }) =>
      1 - after / before;
    const losing = states.filter((state) => saves(state) <= 0).map(({ name }) => name);
    const large = states.filter((state) => saves(state) >= 0.2).map(({ name }) => name);
    expect(claimed(true).filter((name) => losing.includes(name))).toEqual([]);
    expect(claimed(false).filter((name) => large.includes(name))).toEqual([]);
    expect(losing.length).toBeLessThan(claimed(true).length);
  }, 120_000);

  test("at least nine of ten such claims save no less than they say at the least", async () => {
    const states = (await measuredStates(reports)).filter(({ half }) => half?.command !== undefined);
    const short = states.filter(({ before, after, half }) => before - after < (half?.saves?.low ?? 0));
    expect(short.length).toBeLessThanOrEqual(0.1 * states.length);
  }, 120_000);
}
