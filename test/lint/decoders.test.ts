/** @file Reports of decoders at true widths, as two exporters write them: a prompt of 512, and one token behind 2,048. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { dynamoDecoder } from "../../fixtures/decoder/dynamo.ts";
import { genaiDecoder } from "../../fixtures/decoder/genai.ts";
import { decoderSizes, plainForm } from "../../fixtures/decoder/sizes.ts";
import { fix, lint } from "../../src/index.ts";
import { openModel } from "../../src/onnx/open.ts";

const folder = mkdtempSync(path.join(tmpdir(), "decoders-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const writers = { genai: genaiDecoder, dynamo: dynamoDecoder } as const;

/** Weights stand in a file that nobody writes: shapes are enough to lint. */
function write(sizes: "llama" | "qwen", form: keyof typeof writers): string {
  const name = `${sizes}-${form}`;
  const block = form === "genai" ? 32 : undefined;
  const file = path.join(folder, `${name}.onnx`);
  const options = {
    name,
    sizes: decoderSizes[sizes],
    form: { ...plainForm, dtype: "float16", block } as const,
  };
  writeFileSync(file, writers[form]({ ...options, isExternal: true }).bytes);
  return file;
}

const scenarios = {
  "prefill of 512": { sequence_length: 512, past_sequence_length: 0, total_sequence_length: 512 },
  "a token behind 2,048": { sequence_length: 1, past_sequence_length: 2048, total_sequence_length: 2049 },
} as const;

/** Sizes and what bounds them are the account's; times are the cost model's, whose own tests hold them. */
async function reportOf(file: string, dims: Readonly<Record<string, number>>) {
  const model = await lint(file, { dims: { batch_size: 1, ...dims }, layers: true });
  const { predicted, groups, layers = [] } = model;
  const products = layers.filter(({ family }) => family === "gemm");
  const head = products.at(-1);
  return {
    predicted: `${predicted.microseconds.toPrecision(2)} µs`,
    families: Object.keys(predicted.families).sort(),
    findings: groups.map(({ code, findings }) => `${code} ${findings.length}`),
    productBytes: products.reduce((total, { bytes }) => total + bytes, 0),
    head: head && { node: head.node, sizes: head.sizes, bytes: head.bytes, bound: head.bound },
    attention: layers.filter(({ family }) => family === "attention").map(({ sizes }) => sizes),
  };
}

describe.each([
  ["llama", "genai"],
  ["llama", "dynamo"],
  ["qwen", "genai"],
  ["qwen", "dynamo"],
] as const)("%s as %s writes it", (sizes, form) => {
  const file = write(sizes, form);
  test.each(Object.entries(scenarios))("%s", async (_, dims) => {
    expect(await reportOf(file, dims)).toMatchSnapshot();
  });
});

describe("one token behind 2,048", () => {
  const dims = scenarios["a token behind 2,048"];

  test("is the bytes of its weights: 4 bits and their scales where the file has them so", async () => {
    const report = await reportOf(write("llama", "genai"), dims);
    const weights = 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14_336) + 4096 * 128_256;
    expect(report.productBytes / ((weights * 4.5) / 8)).toBeCloseTo(1, 2);
    expect(report.head).toMatchObject({ bound: "dram", sizes: { m: 1, n: 128_256, k: 4096 } });
  });

  test("has no advice to pad caches, heads or the vocabulary", async () => {
    for (const form of ["genai", "dynamo"] as const)
      for (const sizes of ["llama", "qwen"] as const) {
        const { findings } = await reportOf(write(sizes, form), dims);
        expect(findings.filter((finding) => finding.startsWith("TC1"))).toEqual([]);
      }
  });
});

describe("padding of a decoder off every multiple of 8", () => {
  const odd = {
    ...decoderSizes["llama-small"],
    ...{ hidden: 60, heads: 3, kvHeads: 1, headDim: 20, intermediate: 90, vocabulary: 501 },
  };

  test.each(["genai", "dynamo"] as const)(
    "as %s writes it: inputs and outputs stay what they are",
    async (form) => {
      const file = path.join(folder, `odd-${form}.onnx`);
      const output = path.join(folder, `odd-${form}-fixed.onnx`);
      const isTurnedByNodes = { ...plainForm, dtype: "float16" } as const;
      writeFileSync(file, writers[form]({ name: "odd", sizes: odd, form: isTurnedByNodes }).bytes);
      const dims = {
        batch_size: 1,
        sequence_length: 512,
        past_sequence_length: 512,
        total_sequence_length: 1024,
      };
      const entry = await fix(file, { output, dims });
      const ports = (name: string) => {
        using model = openModel(name);
        return [...model.graph.inputs, ...model.graph.outputs].map(({ name: port, declared }) => [
          port,
          JSON.stringify(declared),
        ]);
      };
      expect(entry.written).toBe(true);
      expect(ports(output)).toEqual(ports(file));
    },
  );
});
