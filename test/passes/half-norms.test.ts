/** Norms that are written out stay one kernel in half precision: no Cast comes between their nodes. */
import { expect } from "vitest";
import { safeFix } from "../../src/api/fix-settings.ts";
import { planOf } from "../../src/api/options.ts";
import { fixSettings } from "../../src/api/plan-fix.ts";
import { withTimelines } from "../../src/api/timelines.ts";
import { runFix } from "../../src/fix/make.ts";
import { priced } from "../../src/fix/prices.ts";
import { asWritten } from "../../src/fix/stored-types.ts";
import { openModel } from "../../src/onnx/open.ts";
import type { Workload } from "../../src/workload/workload.ts";
import { writtenNorms } from "../../src/workload/written-norm.ts";
import { eachModel, zooModel } from "../zoo.ts";

function normsIn({ facts, bindings }: Workload): number {
  return [...facts.scopes()].reduce((sum, scope) => sum + writtenNorms(scope, { bindings }).length, 0);
}

eachModel(["llama", "llama_dynamo"])("%s: has as many norms as before", async (name) => {
  using model = openModel(zooModel(name));
  const choice = { ...safeFix, half: "fp16", halfOnlyWhereFaster: false } as const;
  const { fixed, settings } = await withTimelines(() =>
    runFix(model, fixSettings(planOf(model.path, { stack: "ort-cuda" }), choice)),
  );
  expect(fixed.changed).toBe(true);
  const before = normsIn(priced(model, settings));
  expect(before).toBeGreaterThan(0);
  expect(normsIn(asWritten(fixed.model, settings))).toBe(before);
});
