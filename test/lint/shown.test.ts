/** A threshold hides entries: what is shown saves the same at every one, and the account is one. */
import { describe, expect } from "vitest";
import { rules } from "../../rules/index.ts";
import { decidedReport } from "../../src/api/decided-fix.ts";
import { fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { planOf } from "../../src/api/options.ts";
import { settingsOf } from "../../src/api/timelines.ts";
import type { ModelReport } from "../../src/lint/result.ts";
import { openModel } from "../../src/onnx/open.ts";
import { eachModel, zooModel } from "../zoo.ts";

const files = ["bert", "gpt2_dynamo", "misaligned_cnn", "yolo", "seg_unet", "tcn", "crnn"];
const limits = [0.002, 0.005, 0.02, 0.08, 0.1, 0.2, 0.25, 0.3];

function reportAt(path: string, stack: "ort-cuda" | "cudnn", minSaving: number): ModelReport {
  using model = openModel(path);
  const plan = planOf(path, { stack, minSaving });
  return decidedReport(model, settingsOf(model, { ...plan, rules, calibration: undefined, notices: [] }));
}

function savings({ findings }: ModelReport): Map<string, unknown> {
  return new Map(findings.map(({ fingerprint, saves }) => [fingerprint, saves]));
}

describe.each(["ort-cuda", "cudnn"] as const)("on %s", (stack) => {
  eachModel(files)("%s: what is shown saves the same at every threshold", (name) => {
    const path = zooModel(name);
    const byDefault = reportAt(path, stack, 0.005);
    const known = savings(byDefault);
    for (const limit of limits) {
      const report = reportAt(path, stack, limit);
      for (const [fingerprint, saves] of savings(report)) {
        // A smaller threshold solves for more.
        if (limit < 0.005 && !known.has(fingerprint)) continue;
        expect(saves, `${limit}`).toEqual(known.get(fingerprint));
      }
      if (limit >= 0.005) expect(report.account, `${limit}`).toEqual(byDefault.account);
    }
  });

  eachModel(files)("%s: what a threshold leaves in a file saves what lint says of it", async (name) => {
    const path = zooModel(name);
    for (const minSaving of limits.filter((limit) => limit >= 0.005)) {
      const found = await lint(path, { stack, minSaving, verbose: true });
      const findings = [...found.findings, ...(found.unlisted?.findings ?? [])];
      const { notes } = await fix(path, { stack, minSaving, dryRun: true });
      for (const { rule, node, microseconds } of notes) {
        if (rule === null) continue;
        const alike = findings.filter(
          (each) => each.code === rule && each.node === node && each.fix === "safe",
        );
        // Of what no fix takes, the step that it is told in differs.
        if (alike.length !== 1) continue;
        const said = alike[0]?.saves?.microseconds ?? 0;
        // The solver prices a component, the account the model: what both say of its parts differs by little.
        const off = Math.abs(said - (microseconds ?? 0));
        expect(off, `${rule} ${node} at ${minSaving}`).toBeLessThan(Math.max(0.1, 0.06 * said));
      }
    }
  });
});
