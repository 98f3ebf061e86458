/** What layouts and authors save is told of a file in half: a command is sure to gain by storing that, or the step says what it rests on. */
import { describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { lint } from "../../src/api/lint.ts";
import { namesPrecision } from "../../src/ir/fix-command.ts";
import { accountCells } from "../../src/report/account-text.ts";
import { temporaryFolder } from "../cli/models.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";

/** A product of FP32 that costs more in half, with its Casts, than it takes. */
function narrow(): Uint8Array {
  return model({ name: "narrow", opset: 17 }, (graph) => {
    graph.output(graph.node("MatMul", [graph.input("x", [64, 101]), graph.weight([101, 100])]));
  });
}

it("what gains in no file that is there or named is no error", async () => {
  using folder = temporaryFolder();
  const report = await lint(folder.write("narrow.onnx", narrow()));
  const [found] = report.groups.filter(({ code }) => code === "TC102");
  expect(found?.saves).toMatchObject({ asStored: { microseconds: 0 } });
  expect(found?.saves?.share).toBeGreaterThan(0.05);
  expect([found?.severity, ...report.findings.map(({ severity }) => severity)]).not.toContain("error");
});

describe.each(["ort-cuda", "cudnn", "inductor", "tensorrt"] as const)("steps behind half, on %s", (stack) => {
  eachModel(zooNames)(
    "%s: rest on a file that a command stores, or say that",
    async (name) => {
      const { account, groups } = await lint(zooModel(name), { stack });
      const named = account.flatMap(({ command }) => command ?? []);
      const stores = named.some((command) => namesPrecision(command) || command.includes("--unsafe-fixes"));
      const toHalf = account.find(({ step, precision }) => step === "precision" && precision === "fp16");
      for (const step of account) {
        const isLater = step.step === "layout" || step.step === "author";
        const rests = isLater && toHalf !== undefined && !stores;
        if (rests) expect(step.restsOn).toBe("fp16");
        if (!isLater || toHalf === undefined) expect(step.restsOn).toBeUndefined();
        const way = accountCells(step, account)[3];
        if (step.restsOn !== undefined) expect(way).toMatch(/if in FP16(; as stored|; nothing as stored|$)/);
        if (step.step !== "author") continue;
        expect(step.written === undefined).toBe(step.restsOn === undefined);
        const authored = groups.filter((group) => group.step === "author");
        const parts = authored.reduce((sum, { saves }) => sum + (saves?.asStored?.microseconds ?? 0), 0);
        expect(parts).toBeCloseTo(step.written?.microseconds ?? 0, 6);
      }
    },
    60_000,
  );
});

describe("what an author saves of a file that nobody is told to store in half", () => {
  it.each([
    ["video_unet_48", "ort-cuda"],
    ["llama_dynamo", "ort-cuda"],
    ["convnext_tiny", "ort-cuda"],
    ["llama", "ort-cuda"],
  ] as const)(
    "is said of it as it is stored, too, as --precision as-is has it: %s on %s",
    async (name, stack) => {
      const report = await lint(zooModel(name), { stack });
      const stored = await lint(zooModel(name), { stack, precision: "as-is" });
      const author = report.account.find(({ step }) => step === "author");
      const asIs = stored.account.find(({ step }) => step === "author");
      expect(author?.restsOn).toBe("fp16");
      expect(author?.written?.microseconds).toBeCloseTo(asIs?.saves?.microseconds ?? 0, 6);
      expect(author?.written?.low).toBeCloseTo(asIs?.saves?.low ?? 0, 6);
      expect(author?.written?.after).toBeCloseTo(stored.account.at(-1)?.microseconds ?? Number.NaN, 6);
    },
  );

  it.each([
    // On an A100 two products of a gate are sure to gain as stored, and not in half, where nobody is told of them.
    ["llama", { gpu: "a100" }],
    ["llama", {}],
  ] as const)("is a part of that at each finding, in every format: %s, %o", async (name, options) => {
    const report = await lint(zooModel(name), { stack: "ort-cuda", ...options });
    const whole = report.account.find(({ step }) => step === "author")?.written?.microseconds ?? 0;
    const authored = report.groups.filter(({ step }) => step === "author");
    const parts = authored.map(({ saves }) => saves?.asStored?.microseconds ?? Number.NaN);
    const sum = parts.reduce((total, part) => total + part, 0);
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeCloseTo(whole, 6);
    const byFingerprint = new Map(report.findings.map((finding) => [finding.fingerprint, finding]));
    for (const { findings, saves } of authored) {
      const own = findings.map(
        (each) => byFingerprint.get(each)?.saves?.asStored?.microseconds ?? Number.NaN,
      );
      expect(own.reduce((total, part) => total + part, 0)).toBeCloseTo(saves?.asStored?.microseconds ?? 0, 9);
    }
    for (const { step, saves } of report.groups)
      if (step !== "author") expect(saves?.asStored).toBeUndefined();
  });
});

it("is said of none of another precision", async () => {
  for (const precision of ["tf32", "as-is"] as const) {
    const { account } = await lint(zooModel("swin_tiny"), { precision });
    expect(account.some(({ restsOn }) => restsOn !== undefined)).toBe(false);
  }
});
