/** What is told decides no figure: a finding saves what it saves beside all others, whichever of them somebody switched off. */
import { expect } from "vitest";
import { rules } from "../../rules/index.ts";
import { lint } from "../../src/api/lint.ts";
import type { ModelOptions } from "../../src/api/options.ts";
import type { Finding, ModelReport } from "../../src/lint/result.ts";
import { eachModel, zooModel } from "../zoo.ts";

const rows: readonly (readonly [string, ModelOptions])[] = [
  ["misaligned_cnn", { stack: "ort-cuda", precision: "fp16" }],
  ["misaligned_cnn", { stack: "tc-runtime" }],
  ["misaligned_mlp", { stack: "tensorrt" }],
  ["seg_unet", { stack: "cudnn", precision: "fp16" }],
  ["shufflenet_v2", { stack: "inductor", precision: "tf32" }],
  ["yolo_w0375", { stack: "ort-cuda" }],
  ["tcn", { gpu: "l4", stack: "ort-cuda" }],
  ["crnn", { stack: "cudnn" }],
];

eachModel(rows)(
  "%s: each rule by itself tells what it tells beside all others (%o)",
  async (name, target) => {
    const options = { ...target, verbose: true };
    const all = await lint(zooModel(name), options);
    const codes = new Set(told(all).map(({ code }) => code));
    expect(codes.size).toBeGreaterThan(1);
    for (const code of codes) {
      const off = rules.filter((rule) => rule.code !== code).map((rule) => [rule.code, "off"] as const);
      const alone = await lint(zooModel(name), { ...options, rules: Object.fromEntries(off) });
      expect(told(alone), code).toEqual(told(all).filter((finding) => finding.code === code));
      expect(statesOf(alone), code).toEqual(statesOf(all));
      expect(savedByAuthor(alone), code).toBeCloseTo(sumOfAuthors(alone), 6);
    }
  },
);

function told({ findings, unlisted }: ModelReport): Finding[] {
  return [...findings, ...(unlisted?.findings ?? [])];
}

/** Rows of the account that are files. */
function statesOf({ account }: ModelReport) {
  return account.filter(({ step }) => step !== "author");
}

function savedByAuthor({ account }: ModelReport): number {
  return account.find(({ step }) => step === "author")?.saves?.microseconds ?? 0;
}

function sumOfAuthors({ groups }: ModelReport): number {
  const ofAuthor = groups.filter(({ step }) => step === "author");
  return ofAuthor.reduce((sum, { saves }) => sum + (saves?.microseconds ?? 0), 0);
}
