/** @file Greedy decoding on ONNX Runtime: with caches that grow, and with those of one length that plans need. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { dynamoDecoder } from "../../../fixtures/decoder/dynamo.ts";
import { genaiDecoder } from "../../../fixtures/decoder/genai.ts";
import { type DecoderForm, decoderSizes, plainForm } from "../../../fixtures/decoder/sizes.ts";
import { openModel } from "../../../src/onnx/open.ts";
import { compareDecoded } from "../../../src/verify/decode/compare.ts";
import { fixedFeeds, growingFeeds } from "../../../src/verify/decode/feeds.ts";
import { decodeGreedily } from "../../../src/verify/decode/greedy.ts";
import { decoderPorts } from "../../../src/verify/decode/ports.ts";
import { openSession } from "../../../src/verify/ort.ts";

const folder = mkdtempSync(path.join(tmpdir(), "decode-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const prompt = [5, 17, 300, 42, 7, 7, 901, 64];
const count = 12;

const forms: Readonly<Record<string, Partial<DecoderForm> & { readonly isDynamo?: boolean }>> = {
  "floats, rotation inside": {},
  "4 bits in blocks of 32": { block: 32 },
  "4 bits with zero points, rotation by nodes": { block: 32, zeroPoints: true, rotary: "node" },
  "a tied head": { tied: true },
  "the dynamo exporter's": { isDynamo: true },
  "the dynamo exporter's, tied": { isDynamo: true, tied: true },
};

describe.each(["llama-small", "qwen-small"] as const)("%s", (sizes) => {
  test.each(Object.entries(forms))("%s: one length gives what growing caches give", async (name, rest) => {
    const { isDynamo = false, ...form } = rest;
    const write = isDynamo ? dynamoDecoder : genaiDecoder;
    const { bytes } = write({ name: "decoder", sizes: decoderSizes[sizes], form: { ...plainForm, ...form } });
    const file = path.join(folder, `${sizes}-${name.replaceAll(/\W+/g, "-")}.onnx`);
    writeFileSync(file, bytes);
    using model = openModel(file);
    const ports = decoderPorts(model);
    await using session = await openSession({ path: file }, { optimization: "basic", threads: 1 });
    const decode = (feeds: ReturnType<typeof growingFeeds>) =>
      decodeGreedily(ports, feeds, prompt, count, (inputs) => session.run(inputs));
    const grown = await decode(growingFeeds(ports));
    const fixed = await decode(fixedFeeds(ports, 40));
    expect(grown.tokens).toHaveLength(count);
    expect(new Set(grown.tokens).size).toBeGreaterThan(form.tied === true ? 0 : 3);
    expect(compareDecoded(grown, fixed, 1e-6)).toEqual({ others: [], largestError: expect.any(Number) });
    expect(compareDecoded(grown, fixed, 1e-6).largestError).toBeLessThan(1e-4);
  });
});

test("a model without caches is refused by name", () => {
  using model = openModel("fixtures/models/aligned-mlp.onnx");
  expect(() => decoderPorts(model)).toThrow(/aligned-mlp.onnx has no input that comes back as an output/);
});

test("a step of another token is told, and whether it was a choice between equals", () => {
  const expected = { tokens: [1, 0], scores: [Float32Array.of(0, 4), Float32Array.of(2, 1.999)] };
  const actual = { tokens: [0, 1], scores: [Float32Array.of(4, 0), Float32Array.of(1.9985, 1.999)] };
  expect(compareDecoded(expected, actual, 1e-2).others).toEqual([
    { step: 0, expected: 1, actual: 0, gap: 1, isTie: false },
    { step: 1, expected: 0, actual: 1, gap: expect.closeTo(0.0005), isTie: true },
  ]);
});
