/**
 * @file Which way of a normalization plans take, held to what every way was measured to take: H100s, rows 2026-11-23 and groups 2026-11-27,
 * `node dist/gpu/norm.js --variants --dtype fp16`. The table has ways that lost and are no more.
 */
import { describe, expect, it } from "vitest";
import { groupWork, rowWork, type Work, waysOf } from "../../../bench/gpu/norm-work.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { groupBy } from "../../../src/ir/group.ts";
import { measuredRows } from "./measured-ways.ts";

interface MeasuredWay {
  readonly work: string;
  readonly way: string;
  readonly microseconds: number;
}

const h100 = machineNamed("h100");
const mostLost = 0.04;
const byWork = groupBy(measuredRows<MeasuredWay>("h100-norm-ways.jsonl"), ({ work }) => work);

function workNamed(name: string): Work {
  const [, kind = "", sizes = "", groups = "32", silu] =
    /^(\w+) ([\dx]+)(?: of (\d+))?(?: nhwc( silu)?)?$/.exec(name) ?? [];
  const [a = 0, b = 0, c = 0] = sizes.split("x").map(Number);
  if (kind === "groupnorm") return groupWork(a, b, c, Number(groups), silu !== undefined);
  if (kind === "softmax" || kind === "layernorm") return rowWork(kind, a, b);
  throw new Error(`no work '${name}'`);
}

describe("of the ways of a normalization, plans take", () => {
  for (const [name, ways] of byWork) {
    it(`one within 4 % of the best: ${name}`, () => {
      const [taken] = waysOf(workNamed(name), "float16", h100);
      const measured = ways.find(({ way }) => way === taken?.name);
      const best = Math.min(...ways.map(({ microseconds }) => microseconds));
      expect(measured, taken?.name).toBeDefined();
      expect((measured?.microseconds ?? Infinity) / best - 1, taken?.name).toBeLessThanOrEqual(mostLost);
    });
  }
});
