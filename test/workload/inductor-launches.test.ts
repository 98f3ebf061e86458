/** What torch.compile launched for whole files (bench/gpu/inductor_launches.py) against what the stack `inductor` is said to join. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { stacks } from "../../src/hardware/stacks.ts";

const file = fileURLToPath(new URL("../../bench/measurements/h200-inductor-launches.jsonl", import.meta.url));

interface Row {
  readonly model: string;
  readonly launches: readonly (readonly [name: string, microseconds: number])[];
}

const rows = readFileSync(file, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);

/** Of every file with attention, which exporters write as two products with a softmax between. */
const withAttention = rows.filter(({ launches }) => launches.some(([name]) => name.includes("softmax")));

describe(path.basename(file), () => {
  test("has files with attention", () => {
    expect(rows.length).toBeGreaterThan(50);
    expect(withAttention.length).toBeGreaterThan(15);
  });

  test("no attention is joined, and none is said to be", () => {
    const joined = rows.filter(({ launches }) => launches.some(([name]) => /flash|fmha|sdp/i.test(name)));
    expect(joined.map(({ model }) => model)).toEqual([]);
    expect(stacks.inductor.fuses.attention).toBe(false);
  });

  test("norms are joined with what is before them, and with each other's loops", () => {
    const names = rows.flatMap(({ launches }) => launches.map(([name]) => name));
    const norms = names.filter((name) => name.includes("native_layer_norm"));
    expect(norms.filter((name) => name.startsWith("triton_")).length).toBe(norms.length);
    expect(stacks.inductor.fuses.elementwise).toBe("loops");
  });
});
