/** @file Forests as the tables that src/cost/forest.ts reads, and the module that holds them. */
import type { CommittedCalibration } from "../../src/cost/calibration.ts";
import type { PackedForest } from "../../src/cost/forest.ts";
import type { Forest } from "./boost.ts";

/** In place of a feature. */
const leaf = 255;

export function pack(forest: Forest): PackedForest & { readonly nodes: string } {
  const nodes = forest.trees.flat();
  const largest = nodes.reduce((most, { value }) => Math.max(most, Math.abs(value)), 1e-9);
  // Seven digits: the committed text stays the same when the last bit of a sum does not.
  const step = Number((largest / 127).toPrecision(7));
  const used = forest.thresholds.map(() => new Set<number>());
  for (const { feature, bin } of nodes) used[feature]?.add(bin);
  // Where a tree goes depends on the thresholds that some tree asks about alone.
  const kept = used.map((bins) => [...bins].sort((a, b) => a - b));
  const bytes = nodes.flatMap(({ feature, bin, value }) =>
    feature < 0 ? [leaf, Math.round(value / step) + 128] : [feature, kept[feature]?.indexOf(bin) ?? 0],
  );
  const thresholds = Float32Array.from(
    forest.thresholds.flatMap((each, feature) => (kept[feature] ?? []).map((bin) => each[bin] ?? 0)),
  );
  return {
    counts: kept.map((bins) => bins.length),
    thresholds: Buffer.from(thresholds.buffer).toString("base64"),
    base: Number(forest.base.toPrecision(7)),
    step,
    trees: forest.trees.length,
    // As they are: deflated, a table would be a quarter smaller, and every run would inflate those that it asks.
    nodes: Buffer.from(bytes).toString("base64"),
  };
}

/** A TypeScript module: loading it costs no file access and no schema check. */
export function moduleText(calibration: CommittedCalibration): string {
  return `/** @file Written by \`npm run fit\`; docs/cost-model.md says from what. Do not edit. */
import type { CommittedCalibration } from "../calibration.ts";

export const h200Calibration: CommittedCalibration = ${JSON.stringify(calibration, undefined, 2)};
`;
}
