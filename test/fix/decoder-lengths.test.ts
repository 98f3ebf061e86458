/** @file Repairs of decoders that PyTorch wrote: the same logits and caches as the file's at every length, not only where they were proven. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { dynamoDecoder } from "../../fixtures/decoder/dynamo.ts";
import { type DecoderSizes, plainForm } from "../../fixtures/decoder/sizes.ts";
import { type FixOptions, fix } from "../../src/index.ts";
import { maxOf } from "../../src/ir/lists.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { openSession } from "../../src/verify/ort.ts";
import { numbersOf, type Tensor, type Tensors, tensorOf } from "../../src/verify/tensor.ts";
import { bytesOfModel, noise } from "../passes/folding.ts";
import { padEverything } from "../passes/padding.ts";

const folder = mkdtempSync(path.join(tmpdir(), "decoder-lengths-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Widths off every multiple of 8 as well as on it, grouped heads as well as plain ones. */
const widths = fc.record({
  kvHeads: fc.integer({ min: 1, max: 2 }),
  group: fc.integer({ min: 1, max: 3 }),
  headDim: fc.integer({ min: 4, max: 20 }).map((half) => 2 * half),
  hidden: fc.integer({ min: 33, max: 96 }),
  intermediate: fc.integer({ min: 65, max: 130 }),
  vocabulary: fc.integer({ min: 101, max: 520 }),
  qkvBias: fc.boolean(),
  tied: fc.boolean(),
});

interface Lengths {
  readonly batch: number;
  readonly past: number;
  readonly fresh: number;
  /** Positions in front that the attention mask leaves out, of the first sample. */
  readonly padded: number;
}

const prompts = [1, 7, 64].map((fresh) => ({ batch: 1, past: 0, fresh, padded: 0 }));
const step = (past: number): Lengths => ({ batch: 1, past, fresh: 1, padded: 0 });
const steps = [0, 1, 100].map(step);
const others = fc
  .record({
    batch: fc.integer({ min: 1, max: 3 }),
    past: fc.integer({ min: 0, max: 150 }),
    fresh: fc.integer({ min: 1, max: 40 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ share, ...rest }): Lengths => ({ ...rest, padded: Math.floor(share * rest.past) }));

type Sizes = DecoderSizes & { readonly tied: boolean };

function sizesOf({
  group,
  kvHeads,
  ...rest
}: typeof widths extends fc.Arbitrary<infer T> ? T : never): Sizes {
  return { layers: 2, positions: 256, rotaryBase: 10_000, heads: group * kvHeads, kvHeads, ...rest };
}

function inputsOf(
  { batch, past, fresh, padded }: Lengths,
  { vocabulary, layers, kvHeads, headDim }: Sizes,
): Tensors {
  const [total, rows] = [past + fresh, Array.from({ length: batch }, (_, at) => at)];
  const each = (count: number, of: (at: number, row: number) => number) =>
    rows.flatMap((row) => Array.from({ length: count }, (_, at) => of(at, row)));
  const caches = Array.from({ length: layers }, (_, layer) =>
    ["key", "value"].map((of) => [layer, of] as const),
  );
  const cache = [batch, kvHeads, past, headDim];
  const count = batch * kvHeads * past * headDim;
  return new Map([
    [
      "input_ids",
      tensorOf(
        "int64",
        [batch, fresh],
        each(fresh, (at, row) => (17 * at + 31 * row + past) % vocabulary),
      ),
    ],
    [
      "attention_mask",
      tensorOf(
        "int64",
        [batch, total],
        each(total, (at, row) => (row === 0 && at < padded ? 0 : 1)),
      ),
    ],
    [
      "position_ids",
      tensorOf(
        "int64",
        [batch, fresh],
        each(fresh, (at) => past + at),
      ),
    ],
    ...caches
      .flat()
      .map(
        ([layer, of], at) =>
          [`past_key_values.${layer}.${of}`, tensorOf("float32", cache, noise(count, at + 1))] as const,
      ),
  ]);
}

/** The largest difference, of the largest number that was expected. */
function distance(expected: Tensor, actual: Tensor | undefined): number {
  expect(actual?.dims).toEqual(expected.dims);
  const [wanted, found] = [numbersOf(expected), actual === undefined ? [] : numbersOf(actual)];
  const largest = maxOf(Array.from(wanted, Math.abs));
  return maxOf(Array.from(wanted, (value, at) => Math.abs(value - (found[at] ?? Number.NaN)))) / largest;
}

interface Repaired {
  readonly bytes: Uint8Array;
  /** Whether it is another model than the file. */
  readonly changed: boolean;
}

/** Everything that may be padded, by amounts that nobody would choose. */
function padded(bytes: Uint8Array): Promise<Repaired> {
  const { after, sizes } = padEverything(modelFromBytes(bytes));
  return Promise.resolve({ bytes: bytesOfModel(after), changed: sizes.size > 0 });
}

/** By `--fix`, decided for a prompt. */
async function fixed(bytes: Uint8Array, options: FixOptions = {}): Promise<Repaired> {
  const [file, output] = [path.join(folder, "drawn.onnx"), path.join(folder, "fixed.onnx")] as const;
  writeFileSync(file, bytes);
  const dims = { sequence_length: 512, past_sequence_length: 0 };
  const { changed } = await fix(file, { output, dims, minSaving: 0, ...options, verify: false });
  return { bytes: readFileSync(output), changed: changed === true };
}

const halved = (bytes: Uint8Array) => fixed(bytes, { half: "fp16" });

/** Of every output, at the worst of these lengths. */
async function worstOf(
  sizes: Sizes,
  lengths: readonly Lengths[],
  before: Uint8Array,
  after: Uint8Array,
): Promise<number> {
  const session = (bytes: Uint8Array) =>
    openSession({ path: "drawn.onnx", bytes, folder }, { optimization: "basic", threads: 1 });
  await using original = await session(before);
  await using repaired = await session(after);
  let worst = 0;
  for (const each of lengths) {
    const inputs = inputsOf(each, sizes);
    const [expected, actual] = [await original.run(inputs), await repaired.run(inputs)];
    for (const [name, tensor] of expected)
      if (tensor.data.length > 0) worst = Math.max(worst, distance(tensor, actual.get(name)));
  }
  return worst;
}

// What `--fix` promises of folding, padding everything besides; and what half leaves of two layers of small widths.
test.each([
  ["padded wherever it may be", padded, 5e-5],
  ["repaired", (bytes: Uint8Array) => fixed(bytes, { stack: "cudnn" }), 5e-5],
  ["in half", halved, 2e-2],
] as const)(
  "a decoder %s is the same function at lengths that nobody looked at",
  async (_, repair, tolerance) => {
    await fc.assert(
      fc.asyncProperty(widths, fc.array(others, { minLength: 2, maxLength: 2 }), async (drawn, more) => {
        const sizes = sizesOf(drawn);
        const { bytes } = dynamoDecoder({ name: "drawn", sizes, form: { ...plainForm, tied: sizes.tied } });
        const after = await repair(bytes);
        // Of sizes that need no repair there is nothing to compare: others are drawn.
        fc.pre(after.changed);
        const worst = await worstOf(sizes, [...prompts, ...steps, ...more], bytes, after.bytes);
        expect(worst).toBeLessThan(tolerance);
      }),
      { numRuns: 5, endOnFailure: true },
    );
  },
  240_000,
);

test("another decoder is another function", async () => {
  const [drawn] = fc.sample(widths, { seed: 3, numRuns: 1 });
  if (drawn === undefined) throw new Error("nothing drawn");
  const sizes = sizesOf(drawn);
  const of = (rotaryBase: number) =>
    dynamoDecoder({ name: "drawn", sizes: { ...sizes, rotaryBase }, form: plainForm }).bytes;
  // At position 0 nothing is turned; one token later it is.
  expect(await worstOf(sizes, [step(0)], of(10_000), of(5_000))).toBe(0);
  expect(await worstOf(sizes, [step(100)], of(10_000), of(5_000))).toBeGreaterThan(1e-3);
});
