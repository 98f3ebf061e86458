import { describe, expect, it } from "vitest";
import { Patch, type TensorSpec } from "../../src/ir/patch.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { info, modelBytes, node } from "../onnx/build.ts";

const { graph } = modelFromBytes(
  modelBytes({ node: [node("Relu", ["x"], ["y"])], input: [info("x", [2])], output: [info("y", [2])] }),
);
const [relu] = graph.nodes;
const spec: TensorSpec = { dtype: "float32", dims: [], bytes: { size: 4, readInto: () => {} } };

/** Everything that can be added to a patch. */
const additions: readonly (readonly [string, (patch: Patch) => void])[] = [
  ["a node in front", (patch) => patch.of(graph).first.push({ opType: "Relu" })],
  ["a node behind", (patch) => patch.of(graph).last.push({ opType: "Relu" })],
  ["a node's place", (patch) => relu && patch.of(graph).nodes.set(relu, [])],
  ["another tensor", (patch) => patch.of(graph).tensors.set("v", spec)],
  ["other contents", (patch) => patch.of(graph).tensors.set("w", { ...spec })],
  ["a tensor's removal", (patch) => patch.of(graph).tensors.set("w", null)],
  ["a new tensor", (patch) => patch.of(graph).added.set("a", spec)],
  ["a declaration", (patch) => patch.of(graph).declared.set("d", null)],
  ["an edge", (patch) => patch.of(graph).edges.set("e", { kind: "tensor", dtype: "float32", shape: [1] })],
  ["an import", (patch) => patch.opsets.set("d", 1)],
  ["metadata", (patch) => patch.metadata.set("k", "v")],
  [
    "a newer IR version",
    (patch) => {
      patch.leastIrVersion = 4;
    },
  ],
];

describe("a patch", () => {
  const begun = () => {
    const patch = new Patch();
    patch.of(graph).tensors.set("w", spec);
    return patch;
  };

  it("is as in its snapshot until something is added", () => {
    const patch = begun();
    expect(patch.isAsIn(patch.snapshot())).toBe(true);
    expect(begun().isAsIn(patch.snapshot())).toBe(true);
  });

  it.each(additions)("is not as in its snapshot with %s", (_, add) => {
    const patch = begun();
    const before = patch.snapshot();
    add(patch);
    expect(patch.isAsIn(before)).toBe(false);
    expect(patch.isAsIn(patch.snapshot())).toBe(true);
  });
});
