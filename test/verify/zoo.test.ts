import { execFileSync } from "node:child_process";
import { closeSync, copyFileSync, openSync, readFileSync, readSync, writeFileSync, writeSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openModel } from "../../src/onnx/open.ts";
import { budgets } from "../../src/verify/index.ts";
import { zoo } from "../zoo.ts";
import { Models } from "./models.ts";

const materialize = path.join(zoo, "materialize.mjs");

describe("a zoo model", () => {
  let models: Models;
  beforeAll(async () => {
    models = await Models.create();
    execFileSync(process.execPath, [materialize, models.folder, "vit_tiny", "dlrm"], { stdio: "pipe" });
  });
  afterAll(() => models[Symbol.dispose]());

  const file = (name: string) => path.join(models.folder, name);

  /** A copy of the model with its own weights, of which one element of one tensor is moved by 0.1. */
  function withOneWeightChanged(name: string): { readonly candidate: string; readonly tensor: string } {
    using model = openModel(file(`${name}.onnx`));
    const external = [...model.graph.values.values()].flatMap(({ initializer }) => {
      const isLarge = initializer?.data.kind === "external" && initializer.dims.length === 2;
      return isLarge ? [initializer] : [];
    });
    const tensor = external[external.length >> 1];
    if (tensor?.data.kind !== "external") throw new Error("no external weights");
    // A location of the same length keeps every length in the file.
    const weights = file(`${"w".repeat(name.length)}.weights`);
    copyFileSync(file(`${name}.weights`), weights);
    const descriptor = openSync(weights, "r+");
    const element = Buffer.alloc(4);
    readSync(descriptor, element, 0, 4, tensor.data.offset + 400);
    element.writeFloatLE(element.readFloatLE() + 0.1);
    writeSync(descriptor, element, 0, 4, tensor.data.offset + 400);
    closeSync(descriptor);
    const bytes = readFileSync(file(`${name}.onnx`)).toString("latin1");
    const candidate = file("candidate.onnx");
    writeFileSync(
      candidate,
      Buffer.from(bytes.replaceAll(`${name}.weights`, path.basename(weights)), "latin1"),
    );
    return { candidate, tensor: tensor.name };
  }

  it("with one weight changed differs, and the node that reads it is named", async () => {
    const original = file("vit_tiny.onnx");
    const { candidate, tensor } = withOneWeightChanged("vit_tiny");
    const report = await models.report(original, candidate, {
      seeds: 1,
      sizes: { batch: [1] },
      threads: undefined,
    });
    expect(report.same).toBe(false);
    using model = openModel(original);
    const parted = model.graph.values.get(report.firstDivergence?.value ?? "");
    expect(parted?.producer?.inputs.map((value) => value?.name)).toContain(tensor);
  });

  it("with tables of several sizes is run on indices that all of them have", async () => {
    const report = await models.report(file("dlrm.onnx"), file("dlrm.onnx"), { budget: budgets.float16 });
    expect(report).toMatchObject({ same: true, problems: [], notices: [] });
  });
});
