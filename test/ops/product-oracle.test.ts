/** @file Shapes of products with drawn sizes and attributes, against what ONNX Runtime gives on the CPU. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compare, input, type OracleAttribute, type OracleNode } from "./oracle.ts";

const f32 = (dims: readonly number[]) => input("float32", dims);

async function agrees(node: OracleNode): Promise<void> {
  const { inferred, actual } = await compare(node);
  expect(inferred).toEqual(actual);
}

async function check(nodes: fc.Arbitrary<OracleNode>, runs = 150): Promise<void> {
  await fc.assert(fc.asyncProperty(nodes, agrees), { numRuns: runs, seed: 20261121 });
}

/** One spatial axis of a window; `size` leaves room for the window without padding. */
const axis = fc
  .record({
    kernel: fc.integer({ min: 1, max: 4 }),
    stride: fc.integer({ min: 1, max: 3 }),
    dilation: fc.integer({ min: 1, max: 3 }),
    begin: fc.integer({ min: 0, max: 2 }),
    end: fc.integer({ min: 0, max: 2 }),
    slack: fc.integer({ min: 0, max: 6 }),
    extra: fc.nat(),
  })
  .map((drawn) => ({ ...drawn, size: (drawn.kernel - 1) * drawn.dilation + 1 + drawn.slack }));

const spatial = fc
  .integer({ min: 1, max: 3 })
  .chain((rank) => fc.array(axis, { minLength: rank, maxLength: rank }));

const channels = fc.record({
  batch: fc.integer({ min: 1, max: 2 }),
  groups: fc.integer({ min: 1, max: 3 }),
  inGroup: fc.integer({ min: 1, max: 3 }),
  outGroup: fc.integer({ min: 1, max: 3 }),
});

type Axes = readonly (typeof axis extends fc.Arbitrary<infer Axis> ? Axis : never)[];

function attributesOf(axes: Axes, groups: number, autoPad: string): Record<string, OracleAttribute> {
  const pads = [...axes.map(({ begin }) => begin), ...axes.map(({ end }) => end)];
  return {
    group: groups,
    strides: axes.map(({ stride }) => stride),
    dilations: axes.map(({ dilation }) => dilation),
    ...(autoPad === "NOTSET" ? { pads } : { auto_pad: autoPad }),
  };
}

const autoPad = fc.constantFrom("NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER");

describe("drawn products agree with ONNX Runtime", () => {
  it("Conv", async () => {
    const nodes = fc.record({ axes: spatial, sizes: channels, pad: autoPad }).map(({ axes, sizes, pad }) => {
      const { batch, groups, inGroup, outGroup } = sizes;
      const x = f32([batch, groups * inGroup, ...axes.map(({ size }) => size)]);
      const w = f32([groups * outGroup, inGroup, ...axes.map(({ kernel }) => kernel)]);
      // ONNX Runtime has no kernel for SAME with dilations.
      const plain = pad.startsWith("SAME") ? axes.map((one) => ({ ...one, dilation: 1 })) : axes;
      return { type: "Conv", inputs: [x, w], attributes: attributesOf(plain, groups, pad) };
    });
    await check(nodes);
  });

  it("ConvTranspose", async () => {
    const nodes = fc
      .record({ axes: spatial, sizes: channels, pad: autoPad, stated: fc.boolean() })
      .map(({ axes, sizes, pad, stated }) => {
        const { batch, groups, inGroup, outGroup } = sizes;
        const x = f32([batch, groups * inGroup, ...axes.map(({ slack }) => slack + 3)]);
        const w = f32([groups * inGroup, outGroup, ...axes.map(({ kernel }) => kernel)]);
        const outputPadding = axes.map(({ stride, extra }) => extra % stride);
        const outputShape = axes.map(({ slack, stride, size }) => (slack + 2) * stride + size - slack);
        const attributes = attributesOf(axes, groups, pad);
        const more = stated ? { output_shape: outputShape } : { output_padding: outputPadding };
        return { type: "ConvTranspose", inputs: [x, w], attributes: { ...attributes, ...more } };
      });
    await check(nodes);
  });

  it("MatMul", async () => {
    const size = fc.integer({ min: 1, max: 4 });
    const nodes = fc
      .record({
        batch: fc.array(size, { maxLength: 3 }),
        ones: fc.array(fc.constantFrom("both", "left", "right"), { minLength: 3, maxLength: 3 }),
        drop: fc.tuple(fc.nat(3), fc.nat(3)),
        m: size,
        k: size,
        n: size,
        vectors: fc.constantFrom("none", "left", "right", "both"),
      })
      .map(({ batch, ones, drop, m, k, n, vectors }) => {
        const side = (which: string, off: number) =>
          batch.map((dim, at) => (ones[at] === which ? 1 : dim)).slice(Math.min(off, batch.length));
        const a = vectors === "left" || vectors === "both" ? [k] : [...side("left", drop[0]), m, k];
        const b = vectors === "right" || vectors === "both" ? [k] : [...side("right", drop[1]), k, n];
        return { type: "MatMul", inputs: [f32(a), f32(b)] };
      });
    await check(nodes);
  });

  it("Einsum", async () => {
    const letters = ["a", "b", "c", "d", "e"];
    const nodes = fc
      .record({
        sizes: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 5, maxLength: 5 }),
        terms: fc.array(
          fc
            .subarray(letters, { minLength: 1 })
            .chain((own) => fc.shuffledSubarray(own, { minLength: own.length })),
          { minLength: 1, maxLength: 3 },
        ),
        output: fc.option(fc.shuffledSubarray(letters)),
      })
      .map(({ sizes, terms, output }) => {
        const used = new Set(terms.flat());
        const kept = output?.filter((label) => used.has(label)).join("");
        const left = terms.map((term) => term.join("")).join(",");
        const equation = kept === undefined ? left : `${left}->${kept}`;
        const inputs = terms.map((term) => f32(term.map((label) => sizes[letters.indexOf(label)] ?? 1)));
        return { type: "Einsum", inputs, attributes: { equation } };
      });
    await check(nodes);
  });

  it("LSTM, GRU and RNN", async () => {
    const size = fc.integer({ min: 1, max: 4 });
    const kinds = [
      { type: "LSTM", gates: 4, outputs: ["y", "h", "c"] },
      { type: "GRU", gates: 3, outputs: ["y", "h"] },
      { type: "RNN", gates: 1, outputs: ["y", "h"] },
    ];
    const nodes = fc
      .record({
        kind: fc.constantFrom(...kinds),
        direction: fc.constantFrom("forward", "reverse", "bidirectional"),
        steps: size,
        batch: size,
        inputSize: size,
        hidden: size,
      })
      .map(({ kind, direction, steps, batch, inputSize, hidden }) => {
        const directions = direction === "bidirectional" ? 2 : 1;
        const rows = kind.gates * hidden;
        const inputs = [
          f32([steps, batch, inputSize]),
          f32([directions, rows, inputSize]),
          f32([directions, rows, hidden]),
        ];
        const attributes = { hidden_size: hidden, direction };
        return { type: kind.type, inputs, attributes, outputs: kind.outputs };
      });
    await check(nodes, 60);
  });

  it("Attention", async () => {
    const size = fc.integer({ min: 1, max: 4 });
    const nodes = fc
      .record({
        batch: size,
        groups: size,
        kvHeads: size,
        queries: size,
        keys: size,
        past: fc.option(size),
        headDim: size,
        valueDim: size,
        merged: fc.boolean(),
      })
      .map(({ batch, groups, kvHeads, queries, keys, past, headDim, valueDim, merged }) => {
        const heads = groups * kvHeads;
        const operand = (count: number, length: number, width: number) =>
          f32(merged ? [batch, length, count * width] : [batch, count, length, width]);
        const caches =
          past === null
            ? []
            : [undefined, f32([batch, kvHeads, past, headDim]), f32([batch, kvHeads, past, valueDim])];
        return {
          type: "Attention",
          opset: 23,
          inputs: [
            operand(heads, queries, headDim),
            operand(kvHeads, keys, headDim),
            operand(kvHeads, keys, valueDim),
            ...caches,
          ],
          attributes: merged ? { q_num_heads: heads, kv_num_heads: kvHeads } : {},
          outputs: past === null ? ["y"] : ["y", "k", "v"],
        };
      });
    await check(nodes, 60);
  });
});
