/** What one stack gains and another that was measured loses is not written: lint, --diff and --fix say why, and a flag does it all the same. */
import { describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { linear } from "../../fixtures/layers.ts";
import { rules } from "../../rules/index.ts";
import { decidedBy } from "../../src/api/decided-fix.ts";
import { repairOf, safeFix } from "../../src/api/fix-settings.ts";
import { lint } from "../../src/api/lint.ts";
import { planOf } from "../../src/api/options.ts";
import { settingsOf, TimelineMissing, withTimelines } from "../../src/api/timelines.ts";
import { readSettings } from "../../src/cli/options.ts";
import { h200Calibration } from "../../src/cost/coefficients/h200-cudnn.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { decideSafe } from "../../src/fix/decide.ts";
import { runFix } from "../../src/fix/make.ts";
import { comparedStacks, type Stack, stacks } from "../../src/hardware/stacks.ts";
import type { LintSettings } from "../../src/lint/run.ts";
import { lintModel } from "../../src/lint/run.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { accountOf } from "../../src/workload/account.ts";
import { lossElsewhere, mostLoss, type OtherStack } from "../../src/workload/elsewhere.ts";
import { summarize, type Timeline } from "../../src/workload/timeline.ts";
import type { Workload } from "../../src/workload/workload.ts";
import { eachModel, zooModel } from "../zoo.ts";

const bytes = model({ name: "head", opset: 17 }, (graph) => {
  const hidden = linear(graph, graph.input("x", [128, 768]), 768, 768);
  graph.output(linear(graph, hidden, 768, 30521));
});

/** A stack where every kernel waits so long that the Slice behind padded logits costs more than padding saves. */
const slow: Stack = { ...stacks.tensorrt, betweenKernels: 50 };

function settingsFor(others: readonly OtherStack[]): LintSettings {
  using opened = modelFromBytes(bytes);
  const request = { ...planOf("head.onnx", {}), rules, calibration: undefined, notices: [] };
  // Of its own: one cost model serves a process, and remembers TensorRT's kernels as they are.
  const cost = createCostModel({ calibration: h200Calibration, inModels: true });
  return { ...settingsOf(opened, request), others, cost };
}

describe("a fix that another stack loses by", () => {
  it("is not made, and says so wherever it would be", () => {
    using opened = modelFromBytes(bytes);
    const settings = settingsFor([{ stack: slow }]);
    const repair = repairOf(settings, safeFix);
    const { loses, declined, fixed } = decideSafe(opened, repair);
    expect(loses?.stack).toBe("tensorrt");
    expect(loses?.share).toBeGreaterThan(mostLoss);
    expect(fixed.changed).toBe(false);
    expect(declined).toMatch(
      /^the repaired model is predicted to be \d+\.\d % slower on TensorRT 10 \(tensorrt\)/,
    );
    expect(declined).toMatch(/; --no-stack-guard repairs it all the same$/);

    const { notices, groups, account } = lintModel(opened, decidedBy(opened, settings));
    expect(notices).toContainEqual({ code: "slower-elsewhere", message: `not fixed by --fix: ${declined}` });
    expect(groups.find(({ code }) => code === "TC102")).toMatchObject({ fix: "none", left: declined });
    const fix = runFix(opened, repair);
    expect(fix.fixed.notes).toContainEqual(expect.objectContaining({ kind: "blocked", message: declined }));
    // Only what lint says could be done has a command, and only lint has decided the Casts of half.
    const told = (steps: typeof account) => steps.map(({ command: _, castsIn: __, ...each }) => each);
    const written = told(accountOf(fix.states, settings.cost));
    expect(told(account).filter(({ step }) => step !== "author" && step !== "kept")).toEqual(written);
    expect(account.some(({ step }) => step === "safe")).toBe(false);
  });

  it("is made where nobody minds, and on the stack itself", () => {
    using opened = modelFromBytes(bytes);
    expect(decideSafe(opened, repairOf(settingsFor([]), safeFix)).fixed.changed).toBe(true);
    const own = { ...slow, id: "ort-cuda" } as const;
    expect(decideSafe(opened, repairOf(settingsFor([{ stack: own }]), safeFix)).fixed.changed).toBe(true);
  });

  it("is asked of the stacks that were measured, unless flag or configuration says no", () => {
    const othersOf = (stackGuard: boolean | undefined) => {
      using opened = modelFromBytes(bytes);
      const config = stackGuard === undefined ? {} : { stackGuard };
      const request = { ...planOf("head.onnx", config), rules, calibration: undefined, notices: [] };
      return settingsOf(opened, request).others?.map(({ stack }) => stack.id);
    };
    expect(othersOf(undefined)).toEqual(comparedStacks.map(({ id }) => id));
    expect(othersOf(false)).toEqual([]);
    expect(readSettings({ "stack-guard": false }).settings.stackGuard).toBe(false);
    expect(readSettings({}).settings.stackGuard).toBeUndefined();
  });
});

describe("a loss", () => {
  /** Every kernel as many times longer behind the change, as a stack's own account may have it. */
  const slowed = (factor: number): OtherStack => {
    let isAfter = false;
    const timelineOf = ({ timeline }: Workload): Timeline => {
      const by = isAfter ? factor : 1;
      isAfter = true;
      const steps = timeline.steps.map((step) => ({ ...step, microseconds: step.microseconds * by }));
      return summarize(steps, timeline.kernels);
    };
    return { stack: stacks["tc-runtime"], timelineOf };
  };

  it("within its own interval is none, nor is one that prices of kernels leave no room for", () => {
    using opened = modelFromBytes(bytes);
    const settings = settingsFor([]);
    const { fixed, after } = decideSafe(opened, repairOf(settings, safeFix));
    expect(fixed.changed).toBe(true);
    using again = modelFromBytes(bytes);
    const before = decideSafe(again, { ...repairOf(settings, safeFix), minSaving: 1 }).after;
    expect(lossElsewhere(before, after, settings, [slowed(1.5)])).toBeUndefined();
    // The other way round padding goes, and every account agrees that it costs.
    expect(lossElsewhere(after, before, settings, [{ stack: stacks.cudnn }])?.stack).toBe("cudnn");
  });
});

describe("an account that nobody foresaw", () => {
  it("is loaded when it is asked for, and the work done again", async () => {
    const asked: number[] = [];
    const result = await withTimelines(() => {
      asked.push(1);
      if (asked.length === 1) throw new TimelineMissing("tc-runtime");
      return "done";
    });
    expect([result, asked.length]).toEqual(["done", 2]);
    await expect(withTimelines(() => Promise.reject(new Error("another")))).rejects.toThrow("another");
  });

  eachModel(["c3d"])("%s: its kernels' prices leave room for a loss on the runtime", async (name) => {
    const { error, account } = await lint(zooModel(name), { stack: "cudnn" });
    expect(error).toBeNull();
    expect(account.some(({ step }) => step === "safe")).toBe(true);
  });
});
