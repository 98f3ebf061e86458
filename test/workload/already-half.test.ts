/** @file A file whose products are half already: no step brings it there, and what it keeps in FP32 is priced as that. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { linear, writtenNorm } from "../../fixtures/layers.ts";
import { compare, fix, lint } from "../../src/index.ts";
import { unsafeFixes } from "../unsafe-fixes.ts";

const folder = mkdtempSync(path.join(tmpdir(), "already-half-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Types = "float16" | "bfloat16" | "float32" | "mixed";

/** Two products in half around a norm in FP32, as exporters keep it; all in FP32; or the second product in FP32. */
function network(types: Types): Uint8Array {
  const first = types === "mixed" ? "float16" : types;
  const second = types === "mixed" ? "float32" : types;
  return model({ name: `${types}-norm`, opset: 22 }, (graph) => {
    const x = graph.input("x", [512, 1024], first);
    const wide = cast(graph, linear(graph, x, 1024, 4096, { dtype: first }), "float32");
    const normed = cast(graph, writtenNorm(graph, wide, 4096, "rms"), second);
    graph.output(linear(graph, normed, 4096, 1024, { dtype: second }), second);
  });
}

function cast(graph: GraphBuilder, x: string, to: keyof typeof codes): string {
  return graph.node("Cast", [x], { to: codes[to] });
}

const codes = { float32: 1, float16: 10, bfloat16: 16 } as const;

/** Twelve products in half, and a head in FP32 of one row, as `--fix` leaves it where Casts take what half would save. */
const withHead = model({ name: "head", opset: 22 }, (graph) => {
  let x = graph.input("x", [8192, 1024], "float16");
  for (let at = 0; at < 12; at++) x = linear(graph, x, 1024, 1024, { dtype: "float16" });
  const row = graph.node("ReduceMean", [
    cast(graph, x, "float32"),
    graph.weight([1], { dtype: "int64", values: [0] }),
  ]);
  graph.output(linear(graph, row, 1024, 100), "float32");
});

const stacks = ["ort-cuda", "tensorrt", "inductor", "cudnn", "tc-runtime"] as const;

describe.each(stacks)("on %s", (stack) => {
  test.each([
    ["all in FP16", network("float16"), "fp16"],
    ["with a head in FP32", withHead, "fp16"],
    ["in the other half", network("bfloat16"), "fp16"],
    ["in FP16 where BF16 is asked for", network("float16"), "bf16"],
  ] as const)(
    "a half file has no step to half, but the account of the types that it stores: %s",
    async (_, bytes, precision) => {
      const half = await lint(bytes, { stack, precision });
      const stored = await lint(bytes, { stack, precision: "as-is" });
      expect(half.account).toEqual(stored.account);
      expect(half.account.map(({ step }) => step)).not.toContain("precision");
      expect(half.predicted.microseconds).toBe(half.account[0]?.microseconds);
      expect(half.groups).toEqual(stored.groups);
      expect(half.target.precision).toBe(precision);
    },
  );

  test("a file with a product in FP32 that counts has one", async () => {
    for (const types of ["float32", "mixed"] as const)
      expect((await lint(network(types), { stack, precision: "fp16" })).account[1]?.step).toBe("precision");
  });

  test("unsafe fixes of a half file tell what lint tells", async () => {
    const { account } = await lint(network("float16"), { stack });
    const file = path.join(folder, `${stack}.onnx`);
    writeFileSync(file, network("float16"));
    const fixed = await fix(file, { stack, ...unsafeFixes, dryRun: true });
    expect(fixed.account).toEqual(account.filter(({ step }) => step !== "author"));
    expect(fixed.changed).toBe(false);
  });
});

test("a comparison of a half file with one in FP32 tells both as they are stored, whichever comes first", async () => {
  const options = { gpu: "h200", stack: "cudnn" } as const;
  const [repair, revert] = [
    await compare(network("float32"), network("float16"), options),
    await compare(network("float16"), network("float32"), options),
  ];
  expect(repair.stored?.time.verdict).toBe("faster");
  expect(revert.stored?.time.verdict).toBe("slower");
  expect(revert.stored?.base).toBe(repair.stored?.head);
});
