/** What exports of two opsets differ by is measured: what is claimed of it is no more. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { eachModel, zooModel } from "../zoo.ts";

describe("GELU written out", () => {
  interface Row {
    readonly model: string;
    readonly mode: string;
    /** Null where the peer has no operator for it. */
    readonly us: number | null;
  }

  const file = path.join(import.meta.dirname, "../../bench/results/truth-rows.jsonl");
  const rows = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line): Row => JSON.parse(line));
  /** Of the files as exported, which come last. */
  const measured = (model: string) =>
    rows.findLast((row) => row.model === model && row.mode === "fp16")?.us ?? 0;

  // Their exports at opset 17 and at 20 differ by that, node for node.
  eachModel(["convnext_tiny", "misaligned_mlp", "siglip_so400m_d2", "swin_tiny", "vit_tiny"])(
    "%s: costs on an H200 at least what is claimed for sure",
    async (name) => {
      const { groups } = await lint(zooModel(name), { stack: "cudnn" });
      const saves = groups.find(({ code }) => code === "TC409")?.saves;
      expect(measured(name) - measured(`${name}_dynamo`)).toBeGreaterThan(saves?.low ?? Infinity);
    },
  );
});
