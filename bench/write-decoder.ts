/**
 * @file Writes a decoder with seeded weights: node scripts/run.mjs bench/write-decoder.ts FOLDER [--form genai|dynamo]
 * [--sizes llama|qwen|llama-small|qwen-small] [--dtype float16|float32] [--block 32|128|0] [--zeros] [--rotary inside|node] [--tied]
 *
 * True widths take one to four gigabytes: weights stand in a file beside the model.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { dynamoDecoder } from "../fixtures/decoder/dynamo.ts";
import { genaiDecoder } from "../fixtures/decoder/genai.ts";
import { decoderSizes } from "../fixtures/decoder/sizes.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    form: { type: "string", default: "genai" },
    sizes: { type: "string", default: "llama" },
    dtype: { type: "string", default: "float16" },
    block: { type: "string", default: "32" },
    zeros: { type: "boolean", default: false },
    rotary: { type: "string", default: "inside" },
    tied: { type: "boolean", default: false },
    name: { type: "string" },
  },
});

function oneOf<Choice extends string>(flag: string, given: string, choices: readonly Choice[]): Choice {
  const found = choices.find((choice) => choice === given);
  if (found === undefined) throw new Error(`--${flag}: ${given}, expected ${choices.join(", ")}`);
  return found;
}

const kinds = {
  llama: "llama",
  qwen: "qwen",
  "llama-small": "llama-small",
  "qwen-small": "qwen-small",
} as const;
const sizes = oneOf("sizes", values.sizes, Object.values(kinds));
const form = oneOf("form", values.form, ["genai", "dynamo"]);
const block = oneOf("block", values.block, ["0", "32", "128"]);
const folder = positionals[0] ?? ".";
const name = values.name ?? `${sizes}-${form}`;
const write = form === "genai" ? genaiDecoder : dynamoDecoder;
mkdirSync(folder, { recursive: true });
const { bytes, weights } = write({
  name,
  sizes: decoderSizes[sizes],
  form: {
    dtype: oneOf("dtype", values.dtype, ["float16", "float32"]),
    block: block === "0" || form === "dynamo" ? undefined : block === "32" ? 32 : 128,
    zeroPoints: values.zeros,
    rotary: oneOf("rotary", values.rotary, ["inside", "node"]),
    tied: values.tied,
  },
  isExternal: true,
});
writeFileSync(path.join(folder, `${name}.onnx`), bytes);
weights.write(path.join(folder, `${name}.weights`));
