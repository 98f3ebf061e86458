/** What is said of half precision that a repair leaves agrees with the files: what costs is not said to save little. */
import { expect } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { unsafeFixes } from "../unsafe-fixes.ts";
import { eachModel, zooModel } from "../zoo.ts";

const halfByName = { half: "fp16", halfOnlyWhereFaster: false, dryRun: true } as const;

eachModel(["misaligned_cnn", "seg_unet", "c3d", "siamese"])(
  "%s: half that takes longer than what is written is said to cost",
  async (name) => {
    const stack = "inductor";
    const left = await fix(zooModel(name), { ...unsafeFixes, stack, dryRun: true });
    const half = await fix(zooModel(name), { ...halfByName, stack });
    const why = left.notes.find(({ message }) => message.startsWith("left FP32: half precision"))?.message;
    const costs = (half.stored?.after ?? 0) > (left.stored?.after ?? Number.NaN);
    if (why !== undefined) expect(why.includes("predicted to cost")).toBe(costs);
    if (name === "misaligned_cnn") expect(why).toMatch(/predicted to cost \S+ µs more than what is done/);
  },
);
