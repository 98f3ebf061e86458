/** TC406 on a stack that turns convolutions to NHWC: what it saves is what the file with the product takes less, conversions included. */
import { readFileSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { fix } from "../../src/api/fix.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { temporaryFolder } from "../cli/models.ts";
import { weight } from "../passes/padding.ts";
import { lint } from "./lint.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

type Embed = (graph: GraphBuilder, image: string) => string;

const [side, patch, filters] = [224, 16, 192];
const across = side / patch;

const ints = (graph: GraphBuilder, values: readonly number[]) =>
  graph.weight([values.length], { dtype: "int64", values: [...values] });
const reshaped = (graph: GraphBuilder, x: string, shape: readonly number[]) =>
  graph.node("Reshape", [x, ints(graph, shape)]);
const reordered = (graph: GraphBuilder, x: string, perm: readonly number[]) =>
  graph.node("Transpose", [x], { perm: [...perm] });

const byConv: Embed = (graph, image) => {
  const filter = weight(graph, [filters, 3, patch, patch]);
  return graph.node("Conv", [image, filter], { strides: [patch, patch] });
};

/** The same, positions by channels. */
const byProduct: Embed = (graph, image) => {
  const apart = reshaped(graph, image, [1, 3, across, patch, across, patch]);
  const rows = reshaped(graph, reordered(graph, apart, [0, 2, 4, 1, 3, 5]), [
    across * across,
    3 * patch * patch,
  ]);
  return graph.node("Gemm", [rows, weight(graph, [filters, 3 * patch * patch])], { transB: 1 });
};

const tokens = (graph: GraphBuilder, x: string) => graph.node("Softmax", [x], { axis: -1 });
const conv3 = (graph: GraphBuilder, x: string) =>
  graph.node("Conv", [x, weight(graph, [filters, filters, 3, 3])], { pads: [1, 1, 1, 1] });

interface Pair {
  readonly what: string;
  readonly conv: Embed;
  readonly product: Embed;
}

const pairs: readonly Pair[] = [
  {
    what: "positions by channels",
    conv: (graph, image) => {
      const flat = reshaped(graph, byConv(graph, image), [1, filters, across * across]);
      return tokens(graph, reordered(graph, flat, [0, 2, 1]));
    },
    product: (graph, image) => tokens(graph, byProduct(graph, image)),
  },
  {
    what: "a Transpose without a Reshape",
    conv: (graph, image) => tokens(graph, reordered(graph, byConv(graph, image), [0, 2, 3, 1])),
    product: (graph, image) =>
      tokens(graph, reshaped(graph, byProduct(graph, image), [1, across, across, filters])),
  },
  {
    what: "a convolution behind",
    conv: (graph, image) => conv3(graph, graph.node("Relu", [byConv(graph, image)])),
    product: (graph, image) => {
      const last = reshaped(graph, byProduct(graph, image), [1, across, across, filters]);
      return conv3(graph, graph.node("Relu", [reordered(graph, last, [0, 3, 1, 2])]));
    },
  },
  {
    what: "channels second at the end",
    conv: (graph, image) => graph.node("Relu", [byConv(graph, image)]),
    product: (graph, image) => {
      const last = reshaped(graph, byProduct(graph, image), [1, across, across, filters]);
      return graph.node("Relu", [reordered(graph, last, [0, 3, 1, 2])]);
    },
  },
  {
    what: "two images",
    conv: (graph, image) => {
      const negated = graph.node("Neg", [image]);
      return conv3(graph, graph.node("Add", [byConv(graph, image), byConv(graph, negated)]));
    },
    product: (graph, image) => {
      const negated = graph.node("Neg", [image]);
      const last = (x: string) => reshaped(graph, byProduct(graph, x), [1, across, across, filters]);
      const second = (x: string) => reordered(graph, last(x), [0, 3, 1, 2]);
      return conv3(graph, graph.node("Add", [second(image), second(negated)]));
    },
  },
];

function bytesOf(embed: Embed): Uint8Array {
  return model({ name: "patches", opset: 17 }, (graph) =>
    graph.output(embed(graph, graph.input("image", [1, 3, side, side]))),
  );
}

function lintOf(bytes: Uint8Array) {
  using opened = modelFromBytes(bytes);
  return lint(opened, { stack: "ort-cuda-nhwc" });
}

const savedIn = ({ findings }: ReturnType<typeof lintOf>) =>
  findings.reduce((sum, { code, saves }) => sum + (code === "TC406" ? (saves?.microseconds ?? 0) : 0), 0);
const timeOf = (report: ReturnType<typeof lintOf>) =>
  report.account.find(({ step }) => step === "precision")?.microseconds ?? Number.NaN;

it.each(pairs)("$what", ({ conv, product }) => {
  const before = lintOf(bytesOf(conv));
  const saved = savedIn(before);
  expect(saved).toBeGreaterThan(0);
  expect(timeOf(before) - saved).toBeCloseTo(timeOf(lintOf(bytesOf(product))), 6);
});

/** Of positions by channels less is claimed: that the file's Transposes away from NHWC and back go with it is not seen. */
it.each(pairs.slice(1))("$what, in the file that --layout nhwc writes", async ({ conv }) => {
  const bytes = bytesOf(conv);
  const [given, output] = [folder.write("patches.onnx", bytes), folder.write("nhwc.onnx", new Uint8Array())];
  await fix(given, { nhwc: true, verify: false, output });
  const [before, after] = [lintOf(bytes), lintOf(readFileSync(output))];
  expect(timeOf(after)).toBeCloseTo(timeOf(before), 6);
  expect(savedIn(after)).toBeCloseTo(savedIn(before), 6);
});
