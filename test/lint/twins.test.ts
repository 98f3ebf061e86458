/** Two exporters write one network: its account is the same, or what differs has a name and an end, which both have in common. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { explainedRatio, ratioOf, type TwinStep, twinHalves, twinSteps } from "../../bench/twin-accounts.ts";
import { withMasks } from "../../bench/twin-files.ts";
import { lint } from "../../src/api/lint.ts";
import { type StackId, stackIds } from "../../src/hardware/stacks.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";

const twins = zooNames.filter((name) => zooNames.includes(`${name}_dynamo`));
const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-twins-"));
afterAll(() => rmSync(folder, { recursive: true }));
const filesOf = (name: string) =>
  [withMasks(zooModel(name), folder), withMasks(zooModel(`${name}_dynamo`), folder)] as const;
/** Both tests below ask for them on some stacks. */
const known = new Map<string, Promise<TwinStep[]>>();
function stepsOf(name: string, stack: StackId): Promise<TwinStep[]> {
  const key = `${name} ${stack}`;
  const steps = known.get(key) ?? twinSteps(...filesOf(name), stack);
  known.set(key, steps);
  return steps;
}

/** A ratio within 3 % of 1. */
const isAlike = (ratio: number) => Math.abs(ratio - 1) < 0.03;

/** One stack that runs a kernel a node, one that knows patterns, and a planner: what a Cast in the wrong place costs is another on each. */
const halfOn: readonly StackId[] = ["cudnn", "ort-cuda", "tc-runtime"];

describe.each(stackIds)("on %s", (stack) => {
  it.each(twins)(
    "%s takes what its dynamo export takes, within 3 %, or findings say why",
    async (name) => {
      const steps = await stepsOf(name, stack);
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
});

describe.each(halfOn)("on %s", (stack) => {
  it.each(twins)(
    "%s, written in half precision, takes what its dynamo export takes, or what was said before",
    async (name) => {
      const half = await twinHalves(...filesOf(name), stack);
      if (half === undefined) return console.warn(`skipped: ${name} needs its weights`);
      const steps = await stepsOf(name, stack);
      const causes = steps.findLast(({ step }) => step !== "author")?.causes ?? new Map<string, number>();
      const ratios = [ratioOf(half), explainedRatio({ ...half, causes })];
      expect(ratios).toSatisfy((all: number[]) => all.some(isAlike));
    },
    60_000,
  );
});

describe("GELU written out", () => {
  interface Row {
    readonly model: string;
    readonly mode: string;
    /** Null where the peer has no operator for it. */
    readonly us: number | null;
  }

  const file = path.join(import.meta.dirname, "../../bench/results/truth-rows.jsonl");
  const rows = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line): Row => JSON.parse(line));
  /** Of the files as exported, which come last. */
  const measured = (model: string) =>
    rows.findLast((row) => row.model === model && row.mode === "fp16")?.us ?? 0;

  // Their exports at opset 17 and at 20 differ by that, node for node.
  eachModel(["convnext_tiny", "misaligned_mlp", "siglip_so400m_d2", "swin_tiny", "vit_tiny"])(
    "%s: costs on an H200 at least what is claimed for sure",
    async (name) => {
      const { groups } = await lint(zooModel(name), { stack: "cudnn" });
      const saves = groups.find(({ code }) => code === "TC409")?.saves;
      expect(measured(name) - measured(`${name}_dynamo`)).toBeGreaterThan(saves?.low ?? Infinity);
    },
  );
});
