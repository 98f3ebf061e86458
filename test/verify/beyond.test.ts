/** What padding may make of infinite inputs, and nothing else. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fixModel } from "../../src/fix/fix.ts";
import { proveSame } from "../../src/fix/proof.ts";
import { align } from "../../src/passes/align/align.ts";
import { forgive } from "../../src/verify/beyond.ts";
import { numbersOf, tensorOf } from "../../src/verify/tensor.ts";
import { type Bundle, bundle } from "../bundle.ts";
import { requestFor, settingsFor, writeInline } from "../fix/models.ts";
import { float, floats, info, node, type types } from "../onnx/build.ts";
import { Models, pseudo } from "./models.ts";

let models: Models;
let child: Bundle;
let folder: string;
beforeAll(async () => {
  models = await Models.create();
  child = await bundle("src/verify/child.ts");
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-beyond-"));
});
afterAll(() => {
  models[Symbol.dispose]();
  child[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

/** Of six columns and zeros behind them: what lies between two products, `wrong` in the last column's first weight. */
interface Shape {
  readonly inner: number;
  readonly between: readonly types.INodeProto[];
  readonly wrong?: number;
}

function mlp({ inner, between, wrong = 0 }: Shape): types.IGraphProto {
  const [into, out] = [pseudo(24).map(Math.abs), pseudo(18, 2).map(Math.abs)];
  const wide = Array.from({ length: 4 * inner }, (_, i) =>
    i % inner < 6 ? (into[6 * Math.floor(i / inner) + (i % inner)] ?? 0) : i === inner - 1 ? wrong : 0,
  );
  return {
    node: [node("MatMul", ["x", "into"], ["h"]), ...between, node("MatMul", ["t", "out"], ["y"])],
    initializer: [
      floats("into", [4, inner], wide),
      floats("out", [inner, 3], [...out, ...new Array<number>(3 * (inner - 6)).fill(wrong)]),
    ],
    input: [info("x", [8, 4])],
    output: [info("y", [8, 3])],
  };
}

const through = (type: string) => [node(type, ["h"], ["t"])];

async function padded(between: readonly types.INodeProto[], wrong?: number, assumesFinite = true) {
  const original = models.write("six", mlp({ inner: 6, between }));
  const candidate = models.write("eight", mlp({ inner: 8, between, ...(wrong !== undefined && { wrong }) }));
  return await models.report(original, candidate, { assumesFinite });
}

describe("of weights that are not negative", () => {
  it.each(["Relu", "Identity", "Exp", "Softplus"])(
    "%s takes what a fix assumes, which is named",
    async (type) => {
      expect(await padded(through(type))).toMatchObject({
        same: true,
        notices: expect.arrayContaining([
          expect.stringMatching(/^output "y" may be NaN where a product reads infinity \(infinity, seed 1\)/),
        ]),
      });
    },
  );

  it("two models that nobody padded are compared as ever", async () => {
    const report = await padded(through("Relu"), undefined, false);
    expect(report).toMatchObject({ same: false });
    expect(report.outputs[0]?.draw).toMatch(/^infinity/);
  });

  it.each(["Tanh", "Sigmoid", "Erf"])("%s gives numbers for both signs: NaN refutes it", async (type) => {
    const report = await padded(through(type));
    expect(report).toMatchObject({ same: false });
    expect(report.outputs[0]?.draw).toMatch(/^infinity/);
  });

  it("a padded lane that is not zero refutes it on ordinary inputs", async () => {
    const report = await padded(through("Relu"), 0.5);
    expect(report.same).toBe(false);
    expect(report.draws[0]?.name).toMatch(/^normal/);
    expect(report.outputs[0]?.difference?.maximumError).toBeGreaterThan(0.01);
  });
});

describe("a fix", () => {
  const between = through("Relu");
  /** x [512, 67] to 1029 to 251 wide, of weights between 0 and 1. */
  const wide = (): types.IGraphProto => ({
    node: [
      node("Gemm", ["x", "into", "b"], ["h"], { name: "fc1" }),
      ...between,
      node("Gemm", ["t", "out"], ["y"], { name: "fc2" }),
    ],
    initializer: [
      floats("into", [67, 1029], pseudo(67 * 1029).map(Math.abs)),
      floats("b", [1029], pseudo(1029).map(Math.abs)),
      floats("out", [1029, 251], pseudo(1029 * 251, 2).map(Math.abs)),
    ],
    input: [info("x", [512, 67], float)],
    output: [info("y", [512, 251], float)],
  });

  it("of a network without negative weights is padded, and its proof names what it assumes", async () => {
    const file = writeInline(folder, wide());
    const outcome = await fixModel(
      requestFor(file, {
        settings: settingsFor([align]),
        verify: (original, candidate, { permutations, assumesFinite }) => {
          const childUrl = pathToFileURL(child.path);
          const rest = { permutations, assumesFinite, half: undefined, childUrl };
          return proveSame({ path: file, original, candidate, ...rest });
        },
      }),
    );
    expect(outcome).toMatchObject({
      changed: true,
      proof: { kind: "verified", summary: expect.stringMatching(/a fix assumes that none does/) },
    });
    expect(outcome.notes.filter(({ kind }) => kind === "failed")).toEqual([]);
  });
});

describe("what is forgiven", () => {
  const special = fc.constantFrom(Number.NaN, Infinity, -Infinity, 0, 1);
  const triple = fc.tuple(special, special, special);

  it("is NaN alone, where the original gives no number for some sign of infinity", () => {
    fc.assert(
      fc.property(fc.array(triple, { minLength: 1, maxLength: 20 }), (elements) => {
        const [expected, actual, other] = [0, 1, 2].map((at) =>
          tensorOf(
            "float32",
            [elements.length],
            elements.map((each) => each[at] ?? 0),
          ),
        );
        if (expected === undefined || actual === undefined) throw new Error("three tensors");
        const { tensor, count } = forgive(expected, actual, other);
        const open = elements.map(
          ([want, found, mirrored]) =>
            Number.isNaN(found) &&
            !Number.isNaN(want) &&
            !(Number.isFinite(want) && Number.isFinite(mirrored)),
        );
        expect(count).toBe(open.filter(Boolean).length);
        expect(Array.from(numbersOf(tensor))).toEqual(
          elements.map(([want, found], at) => (open[at] === true ? want : found)),
        );
      }),
    );
  });

  it("is no number where nothing is known of the other sign", () => {
    const [want, found] = [
      [1, Infinity],
      [Number.NaN, Number.NaN],
    ];
    const { tensor, count } = forgive(
      tensorOf("float32", [2], want),
      tensorOf("float32", [2], found),
      undefined,
    );
    expect([count, Array.from(numbersOf(tensor))]).toEqual([1, [Number.NaN, Infinity]]);
  });
});
