import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { isBatchSymbol, plausibleSizes, samplesOf } from "../../src/ir/symbols.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { changedSizes, sizeAttempts } from "../../src/verify/sizes.ts";

function built(build: (graph: GraphBuilder) => void) {
  return modelFromBytes(model({ name: "symbols", opset: 17 }, build));
}

describe("sizes for symbols that nobody bound", () => {
  it("are one sample, images of 224 and sequences of 128", () => {
    const vision = built((graph) => graph.input("x", ["N", 3, "height", "width"]));
    expect(Object.fromEntries(plausibleSizes(vision, ["N", "height", "width"]))).toEqual({
      N: 1,
      height: 224,
      width: 224,
    });
    const language = built((graph) => {
      graph.input("ids", ["N", "tokens"], "int64");
      graph.input("past", ["N", 4, "past", 32]);
      graph.input("mask", ["N", "past + tokens"], "int64");
    });
    const sizes = plausibleSizes(language, ["N", "tokens", "past", "past + tokens"]);
    expect(sizes.get("N")).toBe(1);
    expect(sizes.get("tokens")).toBe(128);
    expect(sizes.get("past + tokens")).toBe((sizes.get("past") ?? 0) + 128);
  });

  describe("of a decoder", () => {
    const decoder = (total: string) =>
      built((graph) => {
        graph.input("ids", ["batch_size", "sequence_length"], "int64");
        graph.input("mask", ["batch_size", total], "int64");
        graph.input("past", ["batch_size", 4, "past_sequence_length", 32]);
      });
    const names = (total: string) => ["batch_size", "sequence_length", "past_sequence_length", total];
    const priced = (total: string, given: Record<string, number> = {}) =>
      Object.fromEntries([
        ...plausibleSizes(decoder(total), names(total), new Map(Object.entries(given))),
        ...Object.entries(given),
      ]);
    const total = "total_sequence_length";

    it("are positions in a cache, and a total of what is behind and what is new", () => {
      const sizes = { batch_size: 1, sequence_length: 128, past_sequence_length: 128 };
      expect(priced(total)).toEqual({ ...sizes, [total]: 256 });
      expect(priced("past_sequence_length + sequence_length")).toEqual({
        ...sizes,
        "past_sequence_length + sequence_length": 256,
      });
    });

    it("follow the sizes that somebody gave", () => {
      for (const name of [total, "past_sequence_length + sequence_length"])
        expect(priced(name, { sequence_length: 1, past_sequence_length: 2048 })[name]).toBe(2049);
      expect(priced("past_sequence_length + 1", { past_sequence_length: 2048 })).toMatchObject({
        "past_sequence_length + 1": 2049,
      });
    });

    it("are what a given total leaves, and nothing where it leaves nothing", () => {
      expect(priced(total, { sequence_length: 1, [total]: 2049 })).toMatchObject({
        past_sequence_length: 2048,
      });
      expect(priced(total, { sequence_length: 512, [total]: 512 })).toMatchObject({
        past_sequence_length: 0,
      });
      expect(priced(total, { sequence_length: 512, [total]: 100 })).toMatchObject({
        past_sequence_length: 128,
      });
    });

    it("are those somebody gave, though they do not add up", () => {
      const given = { sequence_length: 1, past_sequence_length: 4096, [total]: 100 };
      expect(priced(total, given)).toMatchObject(given);
    });

    it("change together when a model is run at others", () => {
      const ran = new Map(
        Object.entries({ batch_size: 1, sequence_length: 512, past_sequence_length: 0, [total]: 512 }),
      );
      for (const changed of [["sequence_length"], ["past_sequence_length"], ["sequence_length", total]])
        for (const sizes of changedSizes(decoder(total), changed, ran))
          expect(sizes.get(total)).toBe(
            (sizes.get("sequence_length") ?? 0) + (sizes.get("past_sequence_length") ?? 0),
          );
      const [kept] = changedSizes(decoder(total), ["sequence_length"], ran, (name) => name !== total);
      expect(kept?.get(total)).toBe(512);
    });
  });

  it("take a first axis for a batch, unless another input has it elsewhere", () => {
    const turned = built((graph) => {
      graph.input("x", ["time", "batch_size", 16]);
      graph.input("state", ["batch_size", "time"]);
    });
    expect(isBatchSymbol(turned, "time")).toBe(false);
    expect(isBatchSymbol(turned, "batch_size")).toBe(true);
    expect(Object.fromEntries(plausibleSizes(turned, ["time", "batch_size"]))).toEqual({
      time: 128,
      batch_size: 1,
    });
  });

  it("take the axes of a mask for those of its sequence", () => {
    const masked = built((graph) => {
      graph.input("x", ["N", "tokens", 144]);
      graph.input("mask", ["N", 1, "tokens", "tokens"]);
    });
    expect(plausibleSizes(masked, ["tokens"]).get("tokens")).toBe(128);
    const turned = built((graph) => graph.input("x", ["time", "batch", 45]));
    expect(plausibleSizes(turned, ["time"]).get("time")).toBe(128);
  });

  it("take a count that the model finds for a sequence", () => {
    const plain = built((graph) => graph.input("x", [1, 3]));
    expect(plausibleSizes(plain, ["unk__7"]).get("unk__7")).toBe(128);
  });

  it("take time in proportion to the inputs: what is quadratic does not end within a test's time", () => {
    const many = 40_000;
    const names = Array.from({ length: many }, (_, at) => `s${at}`);
    const wide = built((graph) => {
      for (const [at, name] of names.entries()) graph.input(`x${at}`, at % 2 === 0 ? [name, 4] : [4, name]);
    });
    const sizes = plausibleSizes(wide, names);
    expect([sizes.get("s0"), sizes.get("s1")]).toEqual([1, 128]);
    const [first] = sizeAttempts(wide, {});
    expect([first?.[0]?.get("s0"), first?.[0]?.get("s1")]).toEqual([1, 8]);
  });
});

describe("samples of a run", () => {
  const sizes = new Map([
    ["batch", 8],
    ["batch_2", 9],
    ["tokens", 128],
  ]);

  it("are the size of the batch", () => {
    const one = built((graph) => graph.input("x", ["batch", "tokens", 16]));
    expect(samplesOf(one, sizes)).toBe(8);
    const turned = built((graph) => graph.input("x", ["tokens", "batch", 16]));
    expect(samplesOf(turned, sizes)).toBe(8);
  });

  it("are unknown without a batch, and with several that differ", () => {
    const fixed = built((graph) => graph.input("x", [1, "tokens", 16]));
    expect(samplesOf(fixed, sizes)).toBeUndefined();
    const two = built((graph) => {
      graph.input("x", ["batch", 3]);
      graph.input("y", ["batch_2", 3]);
    });
    expect(samplesOf(two, sizes)).toBeUndefined();
    expect(samplesOf(two, new Map([...sizes, ["batch_2", 8]]))).toBe(8);
  });
});
