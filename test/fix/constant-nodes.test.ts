/** What is stored in Constant nodes is what is stored in initializers: to fixes, to rules and to the counts of a report. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Tensor } from "onnxruntime-node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ruleFixtures } from "../../fixtures/rules.ts";
import { type FixOptions, fix } from "../../src/api/fix.ts";
import { fixModel } from "../../src/fix/fix.ts";
import { openModel } from "../../src/onnx/open.ts";
import { align } from "../../src/passes/align/align.ts";
import { channelsLast } from "../../src/passes/channels-last/channels-last.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { half } from "../../src/passes/half/half.ts";
import type { Pass } from "../../src/passes/pass.ts";
import { inlined } from "../inlined.ts";
import { info, modelBytes, node, type types } from "../onnx/build.ts";
import { withConstantNodes } from "../onnx/constant-nodes.ts";
import { difference, noise, run } from "../passes/folding.ts";
import { findingsIn } from "../rules/lint.ts";
import { unsafeFixes } from "../unsafe-fixes.ts";
import { eachModel, zoo } from "../zoo.ts";
import { convolutions, oddWidth, requestFor, settingsFor } from "./models.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-constants-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(bytes: Uint8Array): string {
  const file = path.join(folder, "model.onnx");
  writeFileSync(file, bytes);
  return file;
}

/** What a fix makes of a model, but for what folding and the counts of nodes say. */
async function fate(file: string, options: FixOptions) {
  const { notes, microseconds, diff } = await fix(file, { ...options, dryRun: true });
  const told = notes.filter(({ pass }) => pass !== "fold").map(({ kind, message }) => `${kind} ${message}`);
  return { microseconds, told, addedElements: diff?.addedElements };
}

describe("a fix does to Constants what it does to initializers", () => {
  const modes: Readonly<Record<string, FixOptions>> = {
    "safe fixes": {},
    "unsafe fixes": unsafeFixes,
    "half by name": { ...unsafeFixes, halfOnlyWhereFaster: false },
  };
  const names = ["crnn", "seg_unet", "misaligned_mlp", "yolo_w0375"];
  const rows = names.flatMap((name) => Object.keys(modes).map((mode) => [name, mode] as const));

  eachModel(rows)(
    "%s, %s",
    async (name, mode) => {
      const options = modes[mode] ?? {};
      execFileSync(process.execPath, [path.join(zoo, "materialize.mjs"), folder, name]);
      const bytes = inlined(path.join(folder, `${name}.onnx`));
      const [was, is] = [
        await fate(write(bytes), options),
        await fate(write(withConstantNodes(bytes)), options),
      ];
      expect(is.microseconds).toEqual(was.microseconds);
      expect(is.told).toEqual(was.told);
    },
    60_000,
  );
});

describe("findings", () => {
  it.each(Object.keys(ruleFixtures))("of %s are the same", (code) => {
    const { bad, good } = ruleFixtures[code] ?? {};
    for (const bytes of [bad?.(), good?.()]) {
      if (bytes === undefined) continue;
      const told = (of: Uint8Array) =>
        findingsIn(of).map(({ node: at, code: is, message }) => [is, at, message]);
      expect(told(withConstantNodes(bytes))).toEqual(told(bytes));
    }
  });
});

const sets: readonly (readonly [string, readonly Pass[], number])[] = [
  ["fold and align", [fold, align], 1e-4],
  ["align alone", [align], 1e-4],
  ["half", [fold, align, half], 2e-2],
  ["channels_last", [fold, align, channelsLast], 1e-4],
];
const x = () => new Tensor("float32", Float32Array.from(noise(32 * 28 * 28, 3)), [1, 32, 28, 28]);

/** A third convolution reads the weights of the first. */
function shared(): types.IGraphProto {
  const graph = convolutions();
  return {
    ...graph,
    node: [...(graph.node ?? []), node("Conv", ["x", "w1"], ["z"], { name: "third" })],
    output: [...(graph.output ?? []), info("z")],
  };
}

/** The norm's shift is a list of numbers. */
function listed(): types.IGraphProto {
  const graph = convolutions();
  const attribute = [{ name: "value_floats", type: 6, floats: noise(oddWidth, 3) }];
  return {
    ...graph,
    node: [node("Constant", [], ["shift"], { attribute }), ...(graph.node ?? [])],
    initializer: (graph.initializer ?? []).filter(({ name }) => name !== "shift"),
  };
}

const graphs = { "read once": convolutions, "read twice": shared, "of a list": listed };

describe.each(Object.keys(graphs) as (keyof typeof graphs)[])("weights in Constants, %s", (kind) => {
  it.each(sets)("compute what they did under %s", async (_, passes, tolerance) => {
    const file = write(withConstantNodes(modelBytes(graphs[kind]())));
    const before = readFileSync(file);
    const outcome = await fixModel(requestFor(file, { settings: settingsFor(passes) }));
    expect(outcome).toMatchObject({ changed: true, written: true });
    const inputs = { x: x() };
    expect(difference(await run(before, inputs), await run(readFileSync(file), inputs))).toBeLessThan(
      tolerance,
    );
    using after = openModel(file);
    const constants = after.graph.nodes.filter(({ opType }) => opType === "Constant");
    expect(constants.filter(({ outputs: [value] }) => value?.consumers.length === 0)).toEqual([]);
  });
});

it("tensors that differ and their elements are told of Constants as of initializers", async () => {
  const diffOf = async (bytes: Uint8Array) =>
    (await fix(write(bytes), { dryRun: true, precision: "fp16" })).diff;
  const bytes = modelBytes(convolutions());
  const [was, is] = [await diffOf(bytes), await diffOf(withConstantNodes(bytes))];
  const byName = (tensors: readonly { name: string }[] = []) =>
    new Map(tensors.map((each) => [each.name, each]));
  for (const [name, change] of byName(is?.tensors)) expect(byName(was?.tensors).get(name)).toEqual(change);
  expect(is?.addedElements).toBe(was?.addedElements);
  expect(is?.nodes.filter(({ op, kind }) => op === "Constant" && kind === "changed")).toEqual([]);
});
