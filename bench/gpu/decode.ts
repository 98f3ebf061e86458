/**
 * @file Decoders of two layers at true widths: a prompt, and a token behind a long cache, beside PyTorch's network in FP16.
 *
 *     node dist/gpu/decode.js [--sizes llama,qwen] [--past 2048] [--prompt 512] [--form genai,dynamo] [--torch decode_torch.py]
 *         [--folder FOLDER]
 *
 * Models are written into --folder (a temporary one by default): a gigabyte or four each. Prints and writes $OUT/decode.json. --torch
 * runs the same network there, in CUDA graphs.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { dynamoDecoder } from "../../fixtures/decoder/dynamo.ts";
import { genaiDecoder } from "../../fixtures/decoder/genai.ts";
import { decoderSizes } from "../../fixtures/decoder/sizes.ts";
import { runDecode } from "../../src/gpu/decode/run.ts";
import type { DecodePhase } from "../../src/gpu/protocol.ts";
import { machineOfDevice } from "../../src/hardware/machine.ts";

const { values: options } = parseArgs({
  options: {
    sizes: { type: "string", default: "llama,qwen" },
    form: { type: "string", default: "genai,dynamo" },
    past: { type: "string", default: "2048" },
    prompt: { type: "string", default: "512" },
    torch: { type: "string" },
    folder: { type: "string" },
    device: { type: "string", default: "0" },
  },
});

type Sizes = "llama" | "qwen";

interface Row {
  readonly sizes: Sizes;
  readonly form: string;
  readonly prompt: number;
  readonly past: number;
  readonly prefillUs: number;
  readonly stepUs: number;
  readonly stepLaunches: number;
  readonly weightBytes: number;
  /** Of what this GPU's memory was seen to sustain. */
  readonly weightShare: number;
}

const forms = { genai: genaiDecoder, dynamo: dynamoDecoder } as const;

function write(folder: string, sizes: Sizes, form: keyof typeof forms): string {
  const name = `${sizes}-${form}`;
  const { bytes, weights } = forms[form]({
    name,
    sizes: decoderSizes[sizes],
    form: {
      dtype: "float16",
      block: form === "genai" ? 32 : undefined,
      zeroPoints: false,
      rotary: "inside",
      tied: false,
    },
    isExternal: true,
  });
  const file = path.join(folder, `${name}.onnx`);
  writeFileSync(file, bytes);
  weights.write(path.join(folder, `${name}.weights`));
  return file;
}

/** `length` tokens and two more: the first step is behind a cache of the prompt. */
async function measured(
  file: string,
  length: number,
): Promise<{ prefill: DecodePhase; step: DecodePhase; dram: number }> {
  const task = {
    kind: "decode",
    device: Number(options.device),
    kernels: new URL("../cuda/", import.meta.url).href,
    path: file,
    precision: "model",
    prompt: Array.from({ length }, (_, at) => (at * 7919) % 1000),
    tokens: [1, 2, 3],
    time: {},
  } as const;
  const noFix = () => {
    throw new Error("nothing is repaired here");
  };
  const { prefill, step, device } = await runDecode(task, noFix, (what) => console.error(what));
  return { prefill, step, dram: machineOfDevice(device).bandwidth.dram };
}

function isSizes(name: string): name is Sizes {
  return name === "llama" || name === "qwen";
}

async function main(): Promise<void> {
  const folder = options.folder ?? mkdtempSync(path.join(tmpdir(), "decoders-"));
  const [prompt, past] = [Number(options.prompt), Number(options.past)];
  const rows: Row[] = [];
  for (const sizes of options.sizes.split(",").filter(isSizes)) {
    for (const form of ["genai", "dynamo"] as const) {
      if (!options.form.split(",").includes(form)) continue;
      const file = write(folder, sizes, form);
      const short = await measured(file, prompt);
      const { step, dram } = await measured(file, past);
      const row = {
        ...{ sizes, form, prompt, past },
        prefillUs: short.prefill.times.median,
        stepUs: step.times.median,
        stepLaunches: step.launches,
        weightBytes: step.weightBytes,
        weightShare: step.weightBytes / step.times.median / dram,
      };
      rows.push(row);
      console.log(JSON.stringify(row));
      if (options.folder === undefined) rmSync(file.replace(/onnx$/, "weights"));
    }
  }
  const peers = options.torch === undefined ? [] : torchRows(options.torch, prompt, past);
  for (const peer of peers) console.log(JSON.stringify(peer));
  writeFileSync(
    path.join(process.env["OUT"] ?? ".", "decode.json"),
    JSON.stringify({ rows, peers }, null, 1),
  );
  if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
}

function torchRows(script: string, prompt: number, past: number): unknown[] {
  const args = [script, options.sizes, String(prompt), String(past)];
  const child = spawnSync("python3", args, { encoding: "utf8" });
  if (child.status !== 0) throw new Error(`${script}: ${child.stderr.slice(-2000)}`);
  return JSON.parse(child.stdout);
}

await main();
