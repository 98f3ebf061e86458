/** A sparse tensor is not rewritten, and keeps nothing else from being. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Tensor } from "onnxruntime-node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import misalignedConvChannels from "../../rules/misaligned-conv-channels.ts";
import { fixModel } from "../../src/fix/fix.ts";
import type { FixSettings } from "../../src/fix/pipeline.ts";
import { fixableProducts } from "../../src/lint/fixable.ts";
import { openModel } from "../../src/onnx/open.ts";
import { align } from "../../src/passes/align/align.ts";
import { channelsLast } from "../../src/passes/channels-last/channels-last.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { half } from "../../src/passes/half/half.ts";
import type { Pass } from "../../src/passes/pass.ts";
import { floats, info, integers, node, type types } from "../onnx/build.ts";
import { difference, noise, run } from "../passes/folding.ts";
import { convolutions, oddWidth, requestFor, settingsFor, writeInline } from "./models.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-sparse-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Every fifth element of the tensor is there. */
function sparse(name: string, dims: number[]): types.ISparseTensorProto {
  const size = dims.reduce((product, dim) => product * dim, 1);
  const positions = Array.from({ length: Math.ceil(size / 5) }, (_, index) => 5 * index);
  return {
    values: floats(name, [positions.length], noise(positions.length, 7)),
    indices: integers("", [positions.length], positions),
    dims,
  };
}

/** The two convolutions, a third one over sparse weights, and a sparse addend. */
function withSparse(place: "initializer" | "Constant"): types.IGraphProto {
  const graph = convolutions();
  const [weights, addend] = [sparse("w3", [oddWidth, 32, 1, 1]), sparse("k", [1, oddWidth, 1, 1])];
  const constant = (output: string, sparseTensor: types.ISparseTensorProto) =>
    node("Constant", [], [output], { attribute: [{ name: "sparse_value", type: 11, sparseTensor }] });
  return {
    ...graph,
    node: [
      ...(place === "Constant" ? [constant("w3", weights), constant("k", addend)] : []),
      ...(graph.node ?? []),
      node("Conv", ["x", "w3"], ["d"], { name: "third" }),
      node("Add", ["d", "k"], ["e"]),
      node("BatchNormalization", ["e", "scale", "shift", "mean", "variance"], ["f"]),
      node("Add", ["f", "c"], ["g"]),
      node("Conv", ["g", "w4"], ["z"], { name: "fourth" }),
    ],
    output: [...(graph.output ?? []), info("z", [1, 32, 28, 28])],
    initializer: [...(graph.initializer ?? []), floats("w4", [32, oddWidth, 1, 1], noise(32 * oddWidth, 9))],
    ...(place === "initializer" && { sparseInitializer: [weights, addend] }),
  };
}

const sets: readonly (readonly [string, readonly Pass[], number])[] = [
  ["fold and align", [fold, align], 1e-4],
  ["half", [fold, align, half], 2e-2],
  ["channels_last", [fold, align, channelsLast], 1e-4],
];

describe.each(["initializer", "Constant"] as const)("A sparse %s", (place) => {
  it.each(sets)("stays as it is under %s, and the rest is fixed", async (_, passes, tolerance) => {
    const file = writeInline(folder, withSparse(place));
    const before = readFileSync(file);
    const outcome = await fixModel(requestFor(file, { settings: settingsFor(passes) }));
    expect(outcome).toMatchObject({ changed: true, written: true });
    const x = new Tensor("float32", Float32Array.from(noise(32 * 28 * 28, 3)), [1, 32, 28, 28]);
    const fixed = readFileSync(file);
    expect(difference(await run(before, { x }), await run(fixed, { x }))).toBeLessThan(tolerance);
    using after = openModel(file);
    const isThere = place === "initializer" ? after.graph.values.get("w3")?.initializer : true;
    expect(isThere).toBeTruthy();
    expect((await fixModel(requestFor(file, { settings: settingsFor(passes) }))).changed).toBe(false);
  });
});

it("A sparse weight is named where it is why a product stays off the multiple", async () => {
  const graph = convolutions();
  const dense = (graph.initializer ?? []).filter(({ name }) => name !== "w1");
  const file = writeInline(folder, {
    ...graph,
    initializer: dense,
    sparseInitializer: [sparse("w1", [oddWidth, 32, 3, 3])],
  });
  const plain = settingsFor();
  const settings: FixSettings = {
    ...plain,
    remaining: (workload) => fixableProducts([misalignedConvChannels], workload, plain.cost),
  };
  const { notes } = await fixModel(requestFor(file, { settings }));
  expect(notes.map(({ message }) => message).join("\n")).toContain(
    `${oddWidth}: "w1" is a sparse tensor, which stays as it is`,
  );
});
