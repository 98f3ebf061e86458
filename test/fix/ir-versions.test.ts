/** Each form that a fix writes is valid in every IR version: before 4, every initializer is an input as well. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Tensor } from "onnxruntime-node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fixModel } from "../../src/fix/fix.ts";
import { openModel } from "../../src/onnx/open.ts";
import { align } from "../../src/passes/align/align.ts";
import { channelsLast } from "../../src/passes/channels-last/channels-last.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { half } from "../../src/passes/half/half.ts";
import type { Pass } from "../../src/passes/pass.ts";
import { budgets } from "../../src/verify/budget.ts";
import { signatureProblems } from "../../src/verify/signature.ts";
import { floats, info, integers, node, onnx, type types } from "../onnx/build.ts";
import { difference, noise, run } from "../passes/folding.ts";
import { convolutions, requestFor, settingsFor, writeInline } from "./models.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-ir-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Products with a bias to make, an input of the model to pad, computed shapes, and tensors that nobody needs in the end. */
function network(): types.IGraphProto {
  const graph = convolutions();
  return {
    ...graph,
    node: [
      ...(graph.node ?? []),
      node("MatMul", ["u", "m"], ["h"], { name: "dense" }),
      node("Shape", ["w1"], ["s"]),
      node("Gather", ["s", "zero"], ["rows"]),
      node("Concat", ["minus", "rows"], ["target"], { attribute: [{ name: "axis", type: 2, i: 0 }] }),
      node("Reshape", ["h", "target"], ["v"]),
    ],
    input: [...(graph.input ?? []), info("u", [16, 1030])],
    output: [...(graph.output ?? []), info("v", [undefined, 67])],
    initializer: [
      ...(graph.initializer ?? []),
      floats(
        "m",
        [1030, 67],
        noise(1030 * 67, 8).map((value) => value / 32),
      ),
      integers("zero", [1], [0]),
      integers("minus", [1], [-1]),
    ],
  };
}

function listed(graph: types.IGraphProto): types.IGraphProto {
  const inputs = (graph.initializer ?? []).map(({ name, dims, dataType }) =>
    info(name ?? "", (dims ?? []).map(Number), dataType ?? 1),
  );
  return { ...graph, input: [...(graph.input ?? []), ...inputs] };
}

/** By its name: type and sizes. */
function declarations(graph: types.IGraphProto): Map<string, unknown> {
  return new Map(
    (graph.input ?? []).map(({ name, type }) => [
      name ?? "",
      [type?.tensorType?.elemType, type?.tensorType?.shape?.dim?.map(({ dimValue }) => Number(dimValue))],
    ]),
  );
}

const sets: readonly (readonly [string, readonly Pass[], number])[] = [
  ["fold and align", [fold, align], 1e-4],
  ["half", [fold, align, half], 2e-2],
  ["channels_last", [fold, align, channelsLast], 1e-4],
];
const forms = [3, 4, 13].flatMap((ir) => sets.map((set) => [ir, ...set] as const));

describe("An IR version", () => {
  it.each(forms)("%i takes what %s write", async (irVersion, _, passes, tolerance) => {
    const graph = irVersion < 4 ? listed(network()) : network();
    const opsetImport = [{ domain: "", version: irVersion < 4 ? 8 : 17 }];
    const file = writeInline(folder, graph, { irVersion, opsetImport });
    const before = readFileSync(file);
    const settings = settingsFor(passes);
    using original = openModel(file);
    await fixModel(requestFor(file, { settings }));
    const after = readFileSync(file);
    const x = new Tensor("float32", Float32Array.from(noise(32 * 28 * 28, 3)), [1, 32, 28, 28]);
    const u = new Tensor("float32", Float32Array.from(noise(16 * 1030, 4)), [16, 1030]);
    const feeds = { x, u };
    expect(difference(await run(before, feeds), await run(after, feeds))).toBeLessThan(tolerance);

    const written = onnx.ModelProto.decode(after);
    const inputs = declarations(written.graph ?? {});
    const stored = new Map(
      (written.graph?.initializer ?? []).map(({ name, dims, dataType }) => [
        name ?? "",
        [dataType, (dims ?? []).map(Number)],
      ]),
    );
    for (const name of ["x", "u"]) inputs.delete(name);
    // Raised, the model says of no constant that callers may override it.
    expect(inputs).toEqual(Number(written.irVersion) < 4 ? stored : new Map());
    using fixed = openModel(file);
    expect(signatureProblems(original, fixed, budgets.folding)).toEqual([]);
    expect((await fixModel(requestFor(file, { settings }))).changed).toBe(false);
  });
});
