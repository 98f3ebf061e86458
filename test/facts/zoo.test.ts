import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type Facts, inferFacts } from "../../src/facts/infer.ts";
import { extractProducts, type Products } from "../../src/facts/products.ts";
import type { Dim } from "../../src/ir/dim.ts";
import { labelOf } from "../../src/ir/model.ts";
import { openModel } from "../../src/onnx/open.ts";
import type { ProductWork } from "../../src/ops/work.ts";
import { eachModel, isWholeZoo, zooNames as names, zoo, zooModel } from "../zoo.ts";

interface Read extends Products {
  readonly facts: Facts;
}

/** Every model with its symbolic batch left symbolic, and read once. */
const readings = new Map<string, Read>();

function read(name: string): Read {
  const known = readings.get(name);
  if (known !== undefined) return known;
  using model = openModel(zooModel(name));
  const facts = inferFacts(model);
  const reading = { facts, ...extractProducts(facts) };
  readings.set(name, reading);
  return reading;
}

/** What two exports of one network must have in common. How operands are stored is the exporter's choice. */
function textOf(work: ProductWork): string {
  switch (work.kind) {
    case "gemm":
      return `gemm ${work.batch} × ${work.m}·${work.n}·${work.k} ${work.dtype}`;
    case "conv": {
      const { batch, channels, filters, groups, input, output, kernel, strides, dilations } = work;
      const window = `kernel ${kernel} stride ${strides} dilation ${dilations}`;
      return `conv ${batch}·${channels}→${filters}/${groups} [${input}]→[${output}] ${window} ${work.dtype}`;
    }
    case "attention": {
      const lengths = `${work.queryLength}·${work.keyLength}`;
      return `attention ${work.batch}·${work.heads}/${work.kvHeads} ${lengths} ${work.headDim}/${work.valueHeadDim} ${work.dtype}`;
    }
    case "recurrent":
      return `recurrent ${work.steps}·${work.batch} ${work.inputSize}→${work.hiddenSize}×${work.gates} ${work.dtype}`;
  }
}

function textsOf(name: string): string[] {
  return read(name)
    .products.map(({ work }) => textOf(work))
    .sort();
}

/** What a finding about a model could name. */
function sizesOf(work: ProductWork): readonly Dim[] {
  switch (work.kind) {
    case "gemm":
      return [work.m, work.n, work.k];
    case "conv":
      return [work.channels, work.filters];
    case "attention":
      return [work.headDim];
    case "recurrent":
      return [work.inputSize, work.hiddenSize];
  }
}

describe("the zoo", () => {
  it("has the models of its manifest", () => {
    const manifest: object = JSON.parse(readFileSync(path.join(zoo, "manifest.json"), "utf8"));
    expect(names).toEqual(Object.keys(manifest).sort());
    if (isWholeZoo) expect(names).toHaveLength(54);
  });

  it.each(names)(
    "%s: every operator known, every product resolved, every declared shape as inferred",
    (name) => {
      const { facts, products, unresolved } = read(name);
      expect(facts.skipped.map(({ node, reason }) => `${labelOf(node)}: ${reason}`)).toEqual([]);
      expect(unresolved.map(({ node, reason }) => `${labelOf(node)}: ${reason}`)).toEqual([]);
      expect(facts.contradictions.map(({ value }) => value.name)).toEqual([]);
      expect(products.length).toBeGreaterThan(0);
    },
  );

  it("has attention where its networks have it, and nowhere else", () => {
    const counts = names.flatMap((name) => {
      const { products } = read(name);
      const count = products.filter(({ work }) => work.kind === "attention").length;
      return count === 0 ? [] : [`${name} ${count}`];
    });
    const expected = [
      "bert 2",
      "bert_dynamo 2",
      "gpt2_dynamo 2",
      "llama 2",
      "llama_dynamo 2",
      "mobilevit_xs 9",
      "sd_unet 6",
      "sd_unet_dynamo 6",
      "siglip_so400m_d2 3",
      "siglip_so400m_d2_dynamo 3",
      "swin_tiny 12",
      "swin_tiny_dynamo 12",
      "video_unet_192 3",
      "video_unet_48 3",
      "video_unet_48_dynamo 3",
      "vit_tiny 12",
      "vit_tiny_dynamo 12",
      "whisper_encoder 2",
    ];
    expect(counts).toEqual(expected.filter((text) => names.includes(text.split(" ")[0] ?? "")));
  });

  it("leaves no softmax between products behind", () => {
    for (const name of names) {
      const { facts, products } = read(name);
      const softmaxes = facts.root.graph.nodes.filter(({ opType }) => opType === "Softmax");
      const inside = new Set(products.flatMap(({ decomposed }) => decomposed?.softmax ?? []));
      expect(softmaxes.filter((node) => !inside.has(node)).map(labelOf), name).toEqual([]);
    }
  });

  eachModel([
    ["misaligned_cnn", [67, 129, 251]],
    ["gpt2_dynamo", [50257]],
    ["siglip_so400m_d2", [72, 4304]],
    ["sd_unet", [40]],
    ["shufflenet_v2", [58, 116]],
    ["llama", [766, 48]],
    ["dlrm", [415]],
    ["yolo", [255]],
    ["resnet50", [3]],
  ])("%s multiplies %j", (name, sizes) => {
    const found = new Set(read(name).products.flatMap(({ work }) => sizesOf(work)));
    expect(sizes.filter((size) => !found.has(size))).toEqual([]);
  });

  // By Tile in one export and Expand in the other.
  eachModel(["llama", "llama_dynamo"])("%s shares keys among heads", (name) => {
    const attention = read(name).products.flatMap(({ work }) => (work.kind === "attention" ? [work] : []));
    expect(attention.map(({ heads, kvHeads }) => [heads, kvHeads])).toEqual([
      [6, 2],
      [6, 2],
    ]);
  });

  // No exception: each pair of exports yields the same products. (`causal` is not compared: the dynamo export of
  // llama stores its mask among the weights, which a skeleton does not have, where TorchScript's builds it with Trilu.)
  it.each(names.filter((name) => names.includes(`${name}_dynamo`)))(
    "%s: both exporters, the same products",
    (name) => {
      expect(textsOf(`${name}_dynamo`)).toEqual(textsOf(name));
    },
  );
});
