import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { aloneMicroseconds, movedBytes } from "../../cuda-runtime/cost/predict.ts";
import { h200 } from "../../cuda-runtime/ir/step.ts";
import { elementCount } from "../../cuda-runtime/ir/view.ts";
import { DraftOperands } from "../../cuda-runtime/plan/draft-operands.ts";
import { attentionElement } from "../../src/gpu/ladder/attention.ts";
import { ladders } from "../../src/gpu/ladder/ladders.ts";
import { ladderNames } from "../../src/gpu/ladder/report.ts";
import { resampleElement } from "../../src/gpu/ladder/resample.ts";
import type { LadderRung } from "../../src/gpu/ladder/work.ts";

const folder = new URL("../../cuda-runtime/kernels/ladder/", import.meta.url);
const sources = readdirSync(folder)
  .filter((name) => /\.cuh?$/.test(name))
  .map((name) => readFileSync(new URL(name, folder), "utf8"))
  .join("\n");
const entries = new Set(
  [...sources.matchAll(/\b(ladder_\w+)\(const __grid_constant__/g)].map(([, name]) => name),
);

function launchesOf({ emit }: LadderRung) {
  const set = new DraftOperands(h200);
  const { emitter } = set;
  const launched: string[] = [];
  const launch = emitter.launch.bind(emitter);
  emitter.launch = (each) => {
    launched.push(each.kernel.entry);
    launch(each);
  };
  const y = emit(set);
  return { y, launched, actions: set.actions() };
}

const works = ladderNames.flatMap((name) => ladders[name].map((work) => ({ name, work })));

describe.each(works)("ladder $name, $work.title", ({ work }) => {
  it.each(work.rungs)("$name launches kernels that are there, and moves what it has to", (rung) => {
    const { actions } = launchesOf(rung);
    expect(actions.length).toBeGreaterThan(0);
    for (const action of actions) {
      if (action.kind !== "launch" || action.launch.kernel.kind !== "built") continue;
      const { family, entry } = action.launch.kernel;
      if (family === "ladder") expect(entries).toContain(entry);
    }
    const moved = actions.reduce((total, action) => total + movedBytes(action), 0);
    expect(moved / work.leastBytes).toBeGreaterThan(0.95);
    for (const action of actions) expect(aloneMicroseconds(action, h200)).toBeGreaterThan(0);
  });

  it("ends with the planner's kernel", () => {
    const last = work.rungs.at(-1);
    const families = last === undefined ? [] : launchesOf(last).actions.map(familyOf);
    expect(families.length).toBeGreaterThan(0);
    expect(families).not.toContain("ladder");
  });

  it("has rungs that do the same work", () => {
    const counts = work.rungs.map((rung) => elementCount(launchesOf(rung).y.shape));
    expect(new Set(counts).size).toBe(1);
    expect(new Set(work.rungs.map(({ name }) => name)).size).toBe(work.rungs.length);
  });
});

it("leaves no kernel of a ladder that no rung launches", () => {
  const launched = works.flatMap(({ work }) => work.rungs.flatMap((rung) => launchesOf(rung).launched));
  expect([...entries].filter((entry) => !launched.includes(entry ?? ""))).toEqual([]);
});

function familyOf(action: ReturnType<typeof launchesOf>["actions"][number]): string {
  return action.kind === "launch" && action.launch.kernel.kind === "built"
    ? action.launch.kernel.family
    : "ptx";
}

it("resamples between the rows around a target time, and from the last two rows at the end", () => {
  const size = { batch: 2, source: 3, target: 2, features: 2 };
  const x = { at: (index: number) => index * index };
  const at = resampleElement(size, Float32Array.from([0.25, 2, 1, 1.5]), x);
  expect([at(0), at(1)]).toEqual([0 + 0.25 * 4, 1 + 0.25 * 8]);
  expect([at(2), at(3)]).toEqual([16, 25]);
  // Of the second batch: rows 3 and on.
  expect([at(4), at(6)]).toEqual([64, (64 + 100) / 2]);
});

it("weighs the values of a head by the softmax of its scores", () => {
  const size = { batch: 1, heads: 2, length: 2, dim: 1 };
  const list = (...values: number[]) => ({ at: (index: number) => values[index] ?? Number.NaN });
  const at = attentionElement(size, 2, { q: list(1, 0, 0, 3), k: list(0, 1, 5, 5), v: list(1, 2, 3, 5) });
  const weight = Math.exp(2) / (1 + Math.exp(2));
  expect(at(0)).toBeCloseTo(1 + weight, 12);
  expect(at(1)).toBeCloseTo(1.5, 12);
  expect([at(2), at(3)]).toEqual([4, 4]);
});
