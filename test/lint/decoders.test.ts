/** @file Reports of decoders at true widths, as two exporters write them: a prompt of 512, and one token behind 2,048. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { dynamoDecoder } from "../../fixtures/decoder/dynamo.ts";
import { genaiDecoder } from "../../fixtures/decoder/genai.ts";
import { type DecoderSizes, decoderSizes, plainForm } from "../../fixtures/decoder/sizes.ts";
import { fix, lint } from "../../src/index.ts";
import { openModel } from "../../src/onnx/open.ts";
import { Models } from "../verify/models.ts";

const folder = mkdtempSync(path.join(tmpdir(), "decoders-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const writers = { genai: genaiDecoder, dynamo: dynamoDecoder } as const;

/** Weights stand in a file that nobody writes: shapes are enough to lint. */
function write(name: string, sizes: DecoderSizes, form: keyof typeof writers, bits: 4 | 16): string {
  const file = path.join(folder, `${name}-${form}-${bits}.onnx`);
  const block = bits === 4 ? 32 : undefined;
  const options = { name, sizes, form: { ...plainForm, dtype: "float16", block } as const };
  writeFileSync(file, writers[form]({ ...options, isExternal: true }).bytes);
  return file;
}

function decoder(sizes: "llama" | "qwen", form: keyof typeof writers): string {
  return write(sizes, decoderSizes[sizes], form, form === "genai" ? 4 : 16);
}

/** The total follows: it is both. */
const scenarios = {
  "prefill of 512": { sequence_length: 512, past_sequence_length: 0 },
  "a token behind 2,048": { sequence_length: 1, past_sequence_length: 2048 },
} as const;

/** Sizes and what bounds them are the account's; times are the cost model's, whose own tests hold them. */
async function reportOf(file: string, dims: Readonly<Record<string, number>>) {
  const model = await lint(file, { dims: { batch_size: 1, ...dims }, layers: true });
  const { predicted, groups, notices, symbols, layers = [] } = model;
  const products = layers.filter(({ family }) => family === "gemm");
  const head = products.at(-1);
  return {
    predicted: `${predicted.microseconds.toPrecision(2)} µs`,
    families: Object.keys(predicted.families).sort(),
    findings: groups.map(({ code, findings }) => `${code} ${findings.length}`),
    notices: notices.map(({ code }) => code),
    total: symbols["total_sequence_length"],
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
  const file = decoder(sizes, form);
  test.each(Object.entries(scenarios))("%s", async (_, dims) => {
    expect(await reportOf(file, dims)).toMatchSnapshot();
  });
});

test.each([
  ["assumed", {}],
  ["said by their total", { total_sequence_length: 256, sequence_length: 128 }],
] as const)("sizes that are %s leave the findings of those that are bound", async (_, dims) => {
  const file = decoder("llama", "dynamo");
  const found = async (sizes: Readonly<Record<string, number>>) => {
    const { groups, predicted } = await lint(file, { dims: sizes });
    return { predicted, groups: groups.map(({ code, findings, saves }) => ({ code, findings, saves })) };
  };
  const bound = await found({ batch_size: 1, sequence_length: 128, past_sequence_length: 128 });
  expect(bound.groups.map(({ code }) => code)).toContain("TC401");
  expect(await found(dims)).toEqual(bound);
});

describe("one token behind 2,048", () => {
  const dims = scenarios["a token behind 2,048"];

  test("is the bytes of its weights: 4 bits and their scales where the file has them so", async () => {
    const report = await reportOf(decoder("llama", "genai"), dims);
    const weights = 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14_336) + 4096 * 128_256;
    expect(report.productBytes / ((weights * 4.5) / 8)).toBeCloseTo(1, 2);
    expect(report.head).toMatchObject({ bound: "dram", sizes: { m: 1, n: 128_256, k: 4096 } });
  });

  test("has no advice to pad caches, heads or the vocabulary", async () => {
    for (const form of ["genai", "dynamo"] as const)
      for (const sizes of ["llama", "qwen"] as const) {
        const { findings } = await reportOf(decoder(sizes, form), dims);
        expect(findings.filter((finding) => finding.startsWith("TC1"))).toEqual([]);
      }
  });
});

/** What people train that no Tensor Core would have asked for. */
const odd = {
  "a vocabulary of 151,643": { ...decoderSizes.qwen, vocabulary: 151_643 },
  "50,257 words, 5 key heads of 64": {
    ...decoderSizes.llama,
    ...{ hidden: 1600, heads: 25, kvHeads: 5, headDim: 64, intermediate: 6400, vocabulary: 50_257 },
  },
  "heads of 80": {
    ...decoderSizes.llama,
    ...{ hidden: 2560, heads: 32, kvHeads: 32, headDim: 80, intermediate: 10_240, vocabulary: 51_200 },
  },
  "heads of 100": {
    ...decoderSizes.llama,
    ...{ hidden: 3200, heads: 32, kvHeads: 8, headDim: 100, intermediate: 8640, vocabulary: 32_000 },
  },
  "3 key heads": {
    ...decoderSizes.llama,
    ...{ hidden: 576, heads: 9, kvHeads: 3, headDim: 64, intermediate: 1536, vocabulary: 49_152 },
  },
} satisfies Readonly<Record<string, DecoderSizes>>;

describe.each(Object.entries(odd))("%s", (name, sizes) => {
  test.each([
    ["genai", 4],
    ["genai", 16],
    ["dynamo", 16],
  ] as const)("as %s writes it, of %i bits", async (form, bits) => {
    const file = write(name.replaceAll(" ", "-"), sizes, form, bits);
    const found: Record<string, readonly string[]> = {};
    for (const [scenario, dims] of Object.entries(scenarios))
      found[scenario] = (await reportOf(file, dims)).findings;
    expect(found).toMatchSnapshot();
  });
});

describe("padding of a decoder off every multiple of 8", () => {
  const off = {
    ...decoderSizes["llama-small"],
    ...{ hidden: 60, heads: 3, kvHeads: 1, headDim: 20, intermediate: 90, vocabulary: 501, positions: 1024 },
  };

  test.each(["genai", "dynamo"] as const)(
    "as %s writes it: inputs and outputs stay what they are",
    async (form) => {
      const file = path.join(folder, `odd-${form}.onnx`);
      const output = path.join(folder, `odd-${form}-fixed.onnx`);
      const isTurnedByNodes = { ...plainForm, dtype: "float16" } as const;
      writeFileSync(file, writers[form]({ name: "odd", sizes: off, form: isTurnedByNodes }).bytes);
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

  test("is the same function for a prompt and for a token behind it, proven at sizes that belong together", async () => {
    using models = await Models.create();
    const file = path.join(folder, "odd-both.onnx");
    const output = path.join(folder, "odd-both-fixed.onnx");
    const sizes = { ...off, hidden: 64, headDim: 16, positions: 1024, intermediate: 90 };
    writeFileSync(file, dynamoDecoder({ name: "odd", sizes, form: plainForm }).bytes);
    const prompt = { batch_size: 1, sequence_length: 512, past_sequence_length: 0 };
    const entry = await fix(file, { output, dims: prompt, verify: false });
    expect(entry.written).toBe(true);
    for (const dims of [prompt, { ...prompt, sequence_length: 1, past_sequence_length: 512 }]) {
      const given = Object.fromEntries(Object.entries(dims).map(([name, size]) => [name, [size]]));
      const report = await models.report(file, output, { sizes: given, otherSizes: true });
      expect(report.same).toBe(true);
      // Of every axis another size ran, the total along.
      expect(report.notices.join(" ")).not.toContain("other sizes do not run");
      for (const draw of report.draws)
        expect(draw.sizes["total_sequence_length"]).toBe(
          (draw.sizes["past_sequence_length"] ?? 0) + (draw.sizes["sequence_length"] ?? 0),
        );
      expect(report.draws[0]?.sizes).toMatchObject(dims);
      expect(new Set(report.draws.map((draw) => draw.sizes["sequence_length"])).size).toBeGreaterThan(1);
    }
  });
});
