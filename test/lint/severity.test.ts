/** A warning is an error by the share of the time that is printed beside it, and by no other. */
import { describe, expect } from "vitest";
import { rules } from "../../rules/index.ts";
import { lint } from "../../src/api/lint.ts";
import type { FindingGroup } from "../../src/lint/result.ts";
import { eachModel, zooModel } from "../zoo.ts";

const bases = new Map(rules.map(({ code, severity }) => [code, severity]));

/** As README has it: a warning of this time that is sure and that a file can have, by what it saves. */
function expected({ code, saves, setting, severity }: FindingGroup, errorShare: number): string {
  const base = bases.get(code) ?? severity;
  if (base !== "warn" || saves === null || setting !== undefined || code === "TC201") return base;
  return saves.share >= errorShare && saves.low > 0 ? "error" : base;
}

const files = ["bert", "bert_dynamo", "llama", "siglip_so400m_d2_dynamo", "misaligned_cnn", "seg_unet"];
const targets = [
  { stack: "ort-cuda" },
  { stack: "inductor" },
  { stack: "cudnn" },
  { stack: "cudnn", precision: "bf16" },
] as const;

describe.each(targets)("%o", (target) => {
  eachModel(files)("%s: severity is of the share that is shown", async (name) => {
    for (const errorShare of [0.03, 0.05, 0.08, 0.12]) {
      const { groups, findings } = await lint(zooModel(name), { ...target, errorShare });
      const told = groups.map(({ code, severity, saves }) => ({ code, severity, share: saves?.share }));
      expect(told).toEqual(
        groups.map((group, index) => ({ ...told[index], severity: expected(group, errorShare) })),
      );
      const severities = new Map(groups.flatMap((each) => each.findings.map((one) => [one, each.severity])));
      for (const { fingerprint, severity } of findings) expect(severity).toBe(severities.get(fingerprint));
    }
  });
});
