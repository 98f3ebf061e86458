/** @file Forests as the tables that src/cost/forest.ts reads, and the module that holds them. */
import type { CommittedCalibration } from "../../src/cost/calibration.ts";
import type { PackedForest } from "../../src/cost/forest.ts";
import type { Forest } from "./boost.ts";

export function pack(forest: Forest): PackedForest {
  const nodes = forest.trees.flat();
  const largest = Math.max(...nodes.map(({ value }) => Math.abs(value)), 1e-9);
  // Seven digits: the committed text stays the same when the last bit of a sum does not.
  const step = Number((largest / 127).toPrecision(7));
  const bytes = nodes.flatMap(({ feature, bin, value }) =>
    feature < 0 ? [255, Math.round(value / step) + 128] : [feature, bin],
  );
  const thresholds = Float32Array.from(forest.thresholds.flatMap((each) => [...each]));
  return {
    counts: forest.thresholds.map((each) => each.length),
    thresholds: Buffer.from(thresholds.buffer).toString("base64"),
    base: Number(forest.base.toPrecision(7)),
    step,
    trees: forest.trees.length,
    nodes: Buffer.from(Uint8Array.from(bytes)).toString("base64"),
  };
}

/** A TypeScript module: loading it costs no file access and no schema check. */
export function moduleText(calibration: CommittedCalibration): string {
  return `/** @file Written by \`npm run fit\`; docs/cost-model.md says from what. Do not edit. */
import type { CommittedCalibration } from "../calibration.ts";

export const h200Calibration: CommittedCalibration = ${JSON.stringify(calibration, undefined, 2)};
`;
}
