/**
 * @file What a user reads of a decoder, whole, as two exporters write it: `__snapshots__/decoder-*.txt`. Sums of it are held by `decoders.test.ts`.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { dynamoDecoder } from "../../fixtures/decoder/dynamo.ts";
import { genaiDecoder } from "../../fixtures/decoder/genai.ts";
import { decoderSizes, plainForm } from "../../fixtures/decoder/sizes.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import { fix, lint } from "../../src/index.ts";
import { reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { options } from "../report/sample.ts";
import { unsafeFixes } from "../unsafe-fixes.ts";

const folder = mkdtempSync(path.join(tmpdir(), "decoder-reports-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const writers = { genai: genaiDecoder, dynamo: dynamoDecoder } as const;
const scenarios = {
  "a prompt of 512": { batch_size: 1, sequence_length: 512, past_sequence_length: 0 },
  "a token behind 2,048": { batch_size: 1, sequence_length: 1, past_sequence_length: 2048 },
} as const;
const targets = ["ort-cuda", "tensorrt", "tc-runtime"] as const;

describe.each(["genai", "dynamo"] as const)("Llama 3 as %s writes it, two layers of it", (form) => {
  /** Weights stand in a file that nobody writes: shapes are enough. */
  const file = path.join(folder, `llama-${form}.onnx`);
  const block = form === "genai" ? 32 : undefined;
  const whole = { ...plainForm, dtype: "float16", block } as const;
  const sizes = decoderSizes.llama;
  writeFileSync(file, writers[form]({ name: "llama", sizes, form: whole, isExternal: true }).bytes);

  test("is told of a prompt and of a step, on three stacks", async () => {
    const texts: string[] = [];
    for (const stack of targets)
      for (const [scenario, dims] of Object.entries(scenarios)) {
        const model = { ...(await lint(file, { stack, dims })), path: path.basename(file) };
        const describeTarget = () => `an H200 with ${stacks[stack].name}`;
        const text = renderText(reportOf([model], "0"), { ...options, color: 0, describeTarget });
        texts.push(`== ${scenario}, ${stack}\n\n${text}`);
      }
    await expect(texts.join("\n")).toMatchFileSnapshot(`__snapshots__/decoder-${form}.txt`);
  });

  test("has nothing that a fix repairs, safe or not", async () => {
    for (const dims of Object.values(scenarios))
      for (const choice of [{}, unsafeFixes])
        expect((await fix(file, { dims, ...choice, dryRun: true })).changed).toBe(false);
  });
});
