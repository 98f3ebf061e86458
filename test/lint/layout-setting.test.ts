/** Where a setting of the stack decides the layout: one account with the stack that has it, and no command that does not. */
import { describe, expect } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { layoutSettingOf, stackIds, stacks } from "../../src/hardware/stacks.ts";
import { countedNotes } from "../../src/report/entries.ts";
import { unsafeFixes } from "../unsafe-fixes.ts";
import { eachModel, zooModel } from "../zoo.ts";

const models = ["espcn", "misaligned_cnn", "squeezenet"];
const ofLayout = new Set(["TC301", "TC302"]);

describe.each(stackIds)("on %s", (id) => {
  const stack = stacks[id];
  const setting = layoutSettingOf(stack);

  eachModel(models)("%s: a command is named for the layout only where the file decides it", async (name) => {
    const { account, groups, findings } = await lint(zooModel(name), { stack: id, verbose: true });
    if (stack.layout === "file") return;
    expect(account.filter(({ step, command }) => step === "layout" && command !== undefined)).toEqual([]);
    const found = [...groups, ...findings].filter(({ code }) => ofLayout.has(code));
    for (const each of found) {
      expect(each).toMatchObject({ fixCommand: null, fix: "none", setting });
      expect(each.severity).not.toBe("error");
    }
    for (const options of [unsafeFixes, { half: "fp16", nhwc: true, nhwcOnlyWhereFaster: true }] as const) {
      const made = await fix(zooModel(name), { ...options, stack: id, dryRun: true });
      expect(made.account?.map(({ step }) => step) ?? []).not.toContain("layout");
      expect(made.notes.filter(({ kind, pass }) => kind === "changed" && pass === "channels-last")).toEqual(
        [],
      );
    }
  });
});

describe("prefer_nhwc on ort-cuda", () => {
  eachModel(["densenet121", "resnet50", "squeezenet"])(
    "%s: its step leaves what --stack ort-cuda-nhwc predicts, in half and as stored",
    async (name) => {
      const { account, groups, predicted } = await lint(zooModel(name));
      const layout = account.find(({ step }) => step === "layout");
      const withIt = await lint(zooModel(name), { stack: "ort-cuda-nhwc" });
      const stored = withIt.account[0]?.microseconds ?? Number.NaN;
      const isToldAsStored = predicted.half !== undefined;
      // Half that a command is sure to gain by is written before, with its Casts.
      const kept = [account, withIt.account].map((steps) => steps.find(({ step }) => step === "kept"));
      const isWritten = kept.every((step) => step !== undefined);
      const inHalf = isWritten ? kept[1]?.microseconds : withIt.predicted.microseconds;
      expect(layout?.microseconds).toBeCloseTo(isToldAsStored ? stored : (inHalf ?? Number.NaN), 6);
      if (!isToldAsStored && !isWritten) expect(layout?.written?.after).toBeCloseTo(stored, 6);
      const parts = groups.filter(({ step }) => step === "layout");
      const sum = parts.reduce((total, { saves }) => total + (saves?.microseconds ?? 0), 0);
      expect(sum).toBeCloseTo(layout?.saves?.microseconds ?? Number.NaN, 6);
    },
  );

  eachModel(["sd_unet", "resnet50"])(
    "%s: of what may save nothing a note says how much the option alone would spare",
    async (name) => {
      const report = await lint(zooModel(name), { verbose: true });
      const { uncertain, unlisted } = report;
      const ofSetting = (unlisted?.groups ?? []).filter(({ setting }) => setting);
      const spared = ofSetting.reduce((total, { saves }) => total + (saves?.microseconds ?? 0), 0);
      expect(uncertain.withSetting?.microseconds ?? 0).toBeCloseTo(spared, 6);
      if (name === "sd_unet") expect(uncertain.withSetting?.option).toBe("prefer_nhwc");
      expect(countedNotes(report).join().includes("where prefer_nhwc saves it")).toBe(spared > 0);
    },
  );

  eachModel(["sd_unet", "resnet50"])(
    "%s: comes behind all that commands do, and before the author's",
    async (name) => {
      const order = ["exported", "precision", "safe", "half", "kept", "layout", "author"];
      const { account } = await lint(zooModel(name));
      const places = account.map(({ step }) => order.indexOf(step));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      expect(account.map(({ step }) => step)).toContain("kept");
    },
  );

  eachModel(["resnet50", "squeezenet"])(
    "%s: turns nothing in BF16, of which it has no kernel",
    async (name) => {
      const { account, groups, unlisted } = await lint(zooModel(name), { precision: "bf16", verbose: true });
      expect(account.map(({ step }) => step)).not.toContain("layout");
      const found = [...groups, ...(unlisted?.groups ?? [])].filter(({ code }) => ofLayout.has(code));
      expect(found).toEqual([]);
    },
  );

  // Convolutions of one axis, of two, and Transposes beside them.
  eachModel(["convnext_tiny", "convnext_tiny_dynamo", "whisper_encoder", "googlenet"])(
    "%s: its step is that of its findings",
    async (name) => {
      const { groups, account } = await lint(zooModel(name), { verbose: true });
      const layout = account.find(({ step }) => step === "layout");
      const parts = groups.filter(({ code }) => ofLayout.has(code));
      const sum = parts.reduce((total, { saves }) => total + (saves?.microseconds ?? 0), 0);
      expect(sum).toBeGreaterThan(0);
      expect(sum).toBeCloseTo(layout?.saves?.microseconds ?? Number.NaN, 6);
    },
  );

  // Its depthwise ones lose more than the others gain: what is saved is the Transposes'.
  eachModel(["convnext_tiny", "convnext_tiny_dynamo"])(
    "%s: convolutions that are slower together claim nothing",
    async (name) => {
      const { groups } = await lint(zooModel(name), { verbose: true });
      const codes = groups.map(({ code }) => code);
      expect(codes).toContain("TC302");
      expect(codes).not.toContain("TC301");
    },
  );

  eachModel(["convnext_tiny", "convnext_tiny_dynamo"])(
    "%s: claims of Transposes what it spares of them",
    async (name) => {
      const { groups } = await lint(zooModel(name), { verbose: true });
      const found = groups.filter(({ code }) => code === "TC302");
      expect(found.length).toBeGreaterThan(0);
      for (const { saves, setting, fix: way } of found) {
        expect(saves?.low).toBeGreaterThan(0);
        expect(way).toBe("none");
        expect(setting).toEqual({ option: "prefer_nhwc", stack: "ort-cuda-nhwc" });
      }
    },
  );

  // Behind each of them is a Reshape, which no Transpose crosses.
  eachModel(["sd_unet"])("%s: says nothing of Transposes that it does not spare", async (name) => {
    const { groups, unlisted } = await lint(zooModel(name), { verbose: true });
    expect([...groups, ...(unlisted?.groups ?? [])].filter(({ code }) => code === "TC302")).toEqual([]);
  });
});

describe("padding beside prefer_nhwc", () => {
  const pointer = (report: Awaited<ReturnType<typeof lint>>) =>
    report.notices.find(({ code }) => code === "other-layout")?.message;

  eachModel(["seg_unet", "tcn", "c3d", "siamese", "squeezenet", "resnet50", "misaligned_cnn", "bert"])(
    "%s: what only the other stack pads is pointed to, where no row does",
    async (name) => {
      const here = await lint(zooModel(name));
      const there = await lint(zooModel(name), { stack: "ort-cuda-nhwc" });
      const hasRow = here.account.some(({ setting }) => setting !== undefined);
      const pads = ({ groups }: typeof here) =>
        groups.some(({ code, step }) => code === "TC101" && step === "safe");
      if (pads(there) && !pads(here) && !hasRow) expect(pointer(here)).toContain("--stack ort-cuda-nhwc");
      if (hasRow) expect(pointer(here)).toBeUndefined();
      expect(pointer(there)).toBeUndefined();
    },
  );

  eachModel(["shufflenet_v2", "efficientnet_b0", "yolo"])(
    "%s: none where no padding pays on the other stack",
    async (name) => {
      const { groups } = await lint(zooModel(name), { stack: "ort-cuda-nhwc" });
      expect(groups.filter(({ code, step }) => code === "TC101" && step === "safe")).toEqual([]);
      expect(pointer(await lint(zooModel(name))) ?? "").not.toContain("padding");
    },
  );

  eachModel(["yolo", "espcn"])("%s: half that pays there alone is pointed to", async (name) => {
    const here = await lint(zooModel(name));
    const there = await lint(zooModel(name), { stack: "ort-cuda-nhwc" });
    const half = ({ account }: typeof here) => account.find(({ step }) => step === "precision");
    expect(half(here)?.saves?.low ?? 0).toBeLessThanOrEqual(0);
    expect(half(there)?.saves?.low).toBeGreaterThan(0);
    expect(pointer(here)).toMatch(
      /^with prefer_nhwc FP16 is sure to gain, both together .*--stack ort-cuda-nhwc/,
    );
    expect(pointer(await lint(zooModel(name), { precision: "tf32" })) ?? "").not.toContain("FP16");
  });

  eachModel(["seg_unet"])("%s: says of how many convolutions, and of none in BF16", async (name) => {
    expect(pointer(await lint(zooModel(name)))).toContain("12 convolutions off the multiple of 8");
    expect(pointer(await lint(zooModel(name), { precision: "bf16" }))).toBeUndefined();
    expect(pointer(await lint(zooModel(name), { stack: "inductor" }))).toBeUndefined();
  });
});
