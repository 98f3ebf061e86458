/** @file ONNX's operator tests of 8-bit floats and of types below 8 bits, with plans run on the CPU by their meaning. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type DType, dtypes } from "../../../src/ir/dtype.ts";
import { numbersOf, type Tensor } from "../../../src/verify/tensor.ts";
import { listTests, openTest, readSets } from "../../gpu/node-tests-data.ts";
import { planTest } from "../../gpu/node-tests-plan.ts";
import { nodeTestArchive } from "../../onnx/node-tests.ts";
import { runPlan } from "./machine.ts";

vi.mock("../../../cuda-runtime/ptx/compile.ts", async (original) => {
  const real = await original<typeof import("../../../cuda-runtime/ptx/compile.ts")>();
  const { rememberingChains } = await import("./machine.ts");
  return { ...real, compileChain: rememberingChains(real.compileChain) };
});

const isSmall = (dtype: DType) =>
  dtypes[dtype].bits < 8
    ? dtypes[dtype].bits > 0
    : dtypes[dtype].bits === 8 && dtypes[dtype].kind === "float";

describe.skipIf(nodeTestArchive === undefined)("ONNX's operator tests of types of 8 bits and less", () => {
  let folder = "";

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), "tc-lint-small-types-"));
    const [cast, quantize] = ["test_cast*", "test_*quantizelinear*"];
    execFileSync("tar", ["-xJf", nodeTestArchive ?? "", "-C", folder, "--wildcards", cast, quantize]);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("give what they ask for, exactly", () => {
    let count = 0;
    const wrong: string[] = [];
    for (const name of listTests(folder)) {
      using model = openTest(folder, name);
      const values = [...model.graph.inputs, ...model.graph.outputs];
      if (
        !values.some(
          ({ declared }) => declared?.kind === "tensor" && declared.dtype && isSmall(declared.dtype),
        )
      )
        continue;
      count += 1;
      for (const set of readSets(folder, name, model)) wrong.push(...differences(name, model, set));
    }
    expect(wrong).toEqual([]);
    expect(count).toBe(118);
  });
});

type Set = ReturnType<typeof readSets>[number];

function differences(name: string, model: ReturnType<typeof openTest>, set: Set): string[] {
  const { plan } = planTest(model, set, { precision: "model" });
  if (plan === undefined) return [`${name}: data decides what runs`];
  const outputs = runPlan(plan, codesOf(set.inputs));
  return [...set.outputs].flatMap(([output, expected]) => {
    const values = outputs[output] ?? [];
    const actual = { dtype: expected.dtype, dims: expected.dims, data: values } as unknown as Tensor;
    const isCode = isSmall(expected.dtype);
    const found = isCode ? numbersOf(actual) : values;
    const wanted = numbersOf(expected);
    const at = Array.from(wanted).findIndex((value, index) => !isSame(value, found[index]));
    return at < 0 ? [] : [`${name}: ${output}[${at}] is ${found[at]}, expected ${wanted[at]}`];
  });
}

/** A zero's sign is nothing that ONNX asks for. */
function isSame(a: number, b: number | undefined): boolean {
  return a === b || (Number.isNaN(a) && b !== undefined && Number.isNaN(b));
}

/** As memory holds them: small floats by their codes. */
function codesOf(tensors: Set["inputs"]): Record<string, number[]> {
  const entries = [...tensors].map(([name, tensor]): [string, number[]] => {
    if (tensor.dtype === "string") return [name, []];
    return [name, isSmall(tensor.dtype) ? Array.from(tensor.data, Number) : Array.from(numbersOf(tensor))];
  });
  return Object.fromEntries(entries);
}
