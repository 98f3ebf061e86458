/** A file that tc-lint wrote has no error and no warning that its model did not have, unless a command takes it: there is one decision. */
import { describe, expect } from "vitest";
import { decidedBy } from "../../src/api/decided-fix.ts";
import { type FixChoice, repairOf, safeFix } from "../../src/api/fix-settings.ts";
import { planOf } from "../../src/api/options.ts";
import { rulesOf } from "../../src/api/plugins.ts";
import { settingsOf, withTimelines } from "../../src/api/timelines.ts";
import { runFix } from "../../src/fix/make.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import { InputError } from "../../src/ir/errors.ts";
import type { FindingGroup, ModelReport } from "../../src/lint/result.ts";
import { lintModel } from "../../src/lint/run.ts";
import { type OpenModel, openModel } from "../../src/onnx/open.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";

const half = { ...safeFix, half: "fp16", halfOnlyWhereFaster: false } as const;
const asked: Readonly<Record<string, FixChoice>> = {
  "--fix": safeFix,
  "--precision fp16": half,
  "--precision fp16 --unsafe-fixes": { ...half, nhwc: true },
  "--precision fp16 --layout nhwc": { ...half, nhwc: true, nhwcOnlyWhereFaster: false },
  "--layout nhwc": { ...safeFix, nhwc: true, nhwcOnlyWhereFaster: false },
};

function settingsFor(model: OpenModel, stack: StackId) {
  const plan = planOf(model.path, { stack });
  const rules = rulesOf(plan.settings);
  return settingsOf(model, { ...plan, rules, calibration: undefined, notices: [], verbose: true });
}

function reportOn(model: OpenModel, stack: StackId = "ort-cuda"): ModelReport {
  return lintModel(model, decidedBy(model, settingsFor(model, stack)));
}

/** As `--fix` writes it, without weights: larger tensors are taken to be in half's range. Undefined where it takes them, or nothing changes. */
function written(model: OpenModel, choice: FixChoice, stack: StackId = "ort-cuda"): OpenModel | undefined {
  try {
    const { fixed } = runFix(model, { ...repairOf(settingsFor(model, stack), choice), mostRead: 128 << 10 });
    return fixed.changed ? fixed.model : undefined;
  } catch (error) {
    if (error instanceof InputError && error.code === "weights-missing") return undefined;
    throw error;
  }
}

/** What lint of such a file says that no flag of a fix takes, and no setting of the stack, where of its model it said nothing of the kind, or what a flag takes. */
function newIn(after: ModelReport, before: ModelReport) {
  const serious = ({ groups }: ModelReport) => groups.filter(({ severity }) => severity !== "info");
  const isStuck = ({ fix, setting }: FindingGroup) => fix === "none" && setting === undefined;
  const had = new Set(
    serious(before)
      .filter(isStuck)
      .map(({ code }) => code),
  );
  return serious(after)
    .filter((group) => isStuck(group) && !had.has(group.code))
    .map(({ code, message, left }) => ({ code, message, left }));
}

describe("a file that --fix wrote", () => {
  /** Kernels of Casts are worth a finding where others take less. */
  const elsewhere = ["llama", "vit_tiny", "vit_tiny_dynamo"].map((name) => [name, "tensorrt"] as const);

  /** Files in NHWC had products off a multiple there that nothing padded any more. */
  const turned = ["seg_unet", "siamese", "misaligned_cnn", "crnn"].flatMap((name) =>
    (["cudnn", "inductor"] as const).map((stack) => [name, stack] as const),
  );

  eachModel<StackId>([...zooNames.map((name) => [name, "ort-cuda"] as const), ...elsewhere, ...turned])(
    "%s on %s: nothing is new in it that no command takes",
    async (name, stack) => {
      using model = openModel(zooModel(name));
      await withTimelines(() => {
        const before = reportOn(model, stack);
        for (const [flags, choice] of Object.entries(asked)) {
          const after = written(model, choice, stack);
          expect(after === undefined ? [] : newIn(reportOn(after, stack), before), flags).toEqual([]);
        }
      });
    },
    60_000,
  );

  /** Why products that are off a multiple are left so. */
  const reasonsIn = ({ unlisted }: ModelReport) =>
    (unlisted?.groups ?? []).flatMap(({ code, left }) =>
      code === "TC101" && left !== null ? [left.replace(/[\d.]+ µs/, "… µs")] : [],
    );

  // espcn's pixel shuffle takes 27 channels apart; heads of yolo are 255 wide.
  eachModel(["espcn", "yolo"])("%s: what a step to NHWC turned is left for the reason before it", (name) => {
    using model = openModel(zooModel(name));
    const after = written(model, { ...half, nhwc: true, nhwcOnlyWhereFaster: false });
    const reasons = after === undefined ? [] : reasonsIn(reportOn(after));
    expect(reasons.length).toBeGreaterThan(0);
    expect(reasonsIn(reportOn(model))).toEqual(expect.arrayContaining(reasons));
  });
});
