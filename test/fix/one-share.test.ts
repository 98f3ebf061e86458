/** What a change saves is one figure, in lint's entries, in the account's rows and in what a repair says of itself. */
import { describe, expect } from "vitest";
import { type FixOptions, fix } from "../../src/api/fix.ts";
import type { FixEntry } from "../../src/api/fix-report.ts";
import { lint } from "../../src/api/lint.ts";
import { groupBy } from "../../src/ir/group.ts";
import type { FindingGroup } from "../../src/lint/result.ts";
import { shareOf } from "../../src/report/account-text.ts";
import { rounding } from "../lint/sums.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";

const unsafe = { half: "fp16", halfOnlyWhereFaster: false, nhwc: true, nhwcOnlyWhereFaster: true } as const;

const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

function savedBy({ notes }: FixEntry, pass: string): number {
  const own = notes.filter((note) => note.kind === "changed" && note.pass === pass);
  return total(own.map(({ microseconds }) => microseconds ?? 0));
}

function savedIn(groups: readonly FindingGroup[], isOf: (group: FindingGroup) => boolean): number {
  return total(
    groups
      .filter((group) => group.step === "safe" && isOf(group))
      .map(({ saves }) => saves?.microseconds ?? 0),
  );
}

describe("what safe fixes save", () => {
  eachModel(["bert", "bert_dynamo", "gpt2_dynamo", "swin_tiny"])(
    "%s: padding's entries and folding's are what their passes save",
    async (name) => {
      const { groups, unlisted } = await lint(zooModel(name), { verbose: true });
      const all = [...groups, ...(unlisted?.groups ?? [])];
      const made = await fix(zooModel(name), { dryRun: true });
      const isFolded = ({ code }: FindingGroup) => code.startsWith("TC4");
      expect(Math.abs(savedIn(all, isFolded) - savedBy(made, "fold"))).toBeLessThan(rounding);
      expect(Math.abs(savedIn(all, (group) => !isFolded(group)) - savedBy(made, "align"))).toBeLessThan(
        rounding,
      );
    },
    60_000,
  );
});

/** Of padding that is declined for what it saves with others, and with what it costs around them. */
const tooLittle = /saves ([\d.]+) % of the model's time/;

/** --min-saving. */
const leastShare = 0.005;

describe("what padding would save, and too little", () => {
  eachModel(zooNames)(
    "%s: is one figure in findings, in what a repair leaves and in the words of both",
    async (name) => {
      const { groups, unlisted, predicted } = await lint(zooModel(name), { verbose: true });
      const { notes } = await fix(zooModel(name), { dryRun: true });
      for (const [message, found] of groupBy([...groups, ...(unlisted?.groups ?? [])], ({ left }) => left)) {
        const share = Number(tooLittle.exec(message ?? "")?.[1]);
        if (!(share > 0)) continue;
        const saved = total(found.map(({ saves }) => saves?.microseconds ?? 0));
        // Where it is below the threshold by itself, nobody asks what it comes to.
        const isBelow = saved < leastShare * predicted.microseconds;
        if (!isBelow) expect(saved).toBeLessThan(((share + 0.051) / 100) * predicted.microseconds);
        const kept = notes.filter((note) => note.message === message);
        if (kept.length > 0)
          expect(total(kept.map(({ microseconds }) => microseconds ?? 0))).toBeCloseTo(saved, 6);
      }
    },
    60_000,
  );
});

describe("what the user's own limit leaves", () => {
  eachModel<FixOptions>([
    ["gpt2_dynamo", {}],
    ["gpt2_dynamo", { half: "bf16", precision: "bf16", stack: "inductor" }],
    ["gpt2_dynamo", { stack: "inductor", gpu: "h100" }],
    ["yolo", { stack: "inductor" }],
  ])("%s: is the figure that lint has, by %o", async (name, options) => {
    const { half: _, ...target } = options;
    const { groups, unlisted } = await lint(zooModel(name), { ...target, minSaving: 0.3, verbose: true });
    const all = [...groups, ...(unlisted?.groups ?? [])];
    const { notes } = await fix(zooModel(name), { ...options, minSaving: 0.3, dryRun: true });
    const left = groupBy(
      notes.filter(({ message }) => message.startsWith("below --min-saving: ")),
      ({ rule }) => rule,
    );
    expect(left.size).toBeGreaterThan(0);
    for (const [rule, own] of left) {
      const found = all.filter(({ code, step }) => code === rule && step === "safe");
      const [saved, told] = [found.map(({ saves }) => saves), own].map((each) =>
        total(each.map((one) => one?.microseconds ?? 0)),
      );
      expect(saved).toBeGreaterThan(0);
      expect(told).toBeCloseTo(saved ?? Number.NaN, 6);
    }
  });
});

describe("the share of a step", () => {
  eachModel(["seg_unet", "resnet50", "espcn"])(
    "%s: is that of the one finding that is all of it",
    async (name) => {
      const { account, groups } = await lint(zooModel(name), { stack: "cudnn" });
      const layout = account.find(({ step }) => step === "layout");
      const [found, ...others] = groups.filter(({ step }) => step === "layout");
      if (layout === undefined || others.length > 0) return;
      expect(found?.saves?.share).toBeCloseTo(shareOf(layout, account) ?? Number.NaN, 9);
    },
  );
});

describe("what another layout saves", () => {
  eachModel<FixOptions>([
    ["espcn", { stack: "cudnn" }],
    ["crnn", { stack: "cudnn" }],
    ["resnet50", { nhwcForm: "ort-cuda" }],
  ])("%s: in half, the change is the row", async (name, options) => {
    const made = await fix(zooModel(name), { ...unsafe, ...options, dryRun: true });
    const row = made.account?.find(({ step }) => step === "layout")?.saves?.microseconds ?? Number.NaN;
    expect(Math.abs(savedBy(made, "channels-last") - row)).toBeLessThan(rounding);
    const { before, after } = made.microseconds ?? { before: Number.NaN, after: Number.NaN };
    const all = total(
      made.notes.map(({ kind, microseconds }) => (kind === "changed" ? (microseconds ?? 0) : 0)),
    );
    expect(Math.abs(before - after - all)).toBeLessThan(rounding);
  });
});
