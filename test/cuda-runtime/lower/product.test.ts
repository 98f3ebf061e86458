/** @file Operators that are products of matrices, run on the CPU by the meaning of their launches. */
import { describe, expect, test } from "vitest";
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { elementCount, stridesOf } from "../../../cuda-runtime/ir/view.ts";
import { productLowerings } from "../../../cuda-runtime/lower/product.ts";
import { attributesOf, Machine, nodeOf } from "./movement-machine.ts";
import { ProductContext, runProduct } from "./product-machine.ts";

interface Input {
  readonly shape: readonly number[];
  readonly values?: ArrayLike<number>;
  readonly type?: StorageType;
}

interface Given {
  readonly operator: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly inputs: readonly (Input | undefined)[];
  readonly output: readonly number[];
  readonly type?: StorageType;
}

/** Small whole numbers: sums are exact. */
function counted({ shape, values }: Input, seed: number): ArrayLike<number> {
  return (
    values ?? Float64Array.from({ length: elementCount(shape) }, (_, index) => ((index * 5 + seed) % 7) - 3)
  );
}

function run({ operator, attributes = {}, inputs, output, type = "float32" }: Given): number[] {
  const machine = new Machine({ run: runProduct });
  const context = new ProductContext(machine, {
    opset: 21,
    attributes: attributesOf(attributes),
    inputs: inputs.map(
      (each, index) => each && machine.tensor(each.type ?? "float32", each.shape, counted(each, index)),
    ),
    outputs: [{ type, shape: output }],
    node: nodeOf(operator),
  });
  productLowerings[operator]?.(context);
  const [result] = context.results;
  if (result === undefined) throw new Error("there is no output");
  return Array.from(machine.read(result));
}

/** Σ over labels that the output lacks, by definition. */
function einsum(equation: string, inputs: readonly Input[]): { shape: number[]; values: number[] } {
  const [left = "", output = ""] = equation.split("->");
  const terms = left.split(",");
  const sizes = new Map<string, number>();
  for (const [at, term] of terms.entries()) {
    for (const [axis, label] of [...term].entries()) {
      sizes.set(label, Math.max(sizes.get(label) ?? 1, inputs[at]?.shape[axis] ?? 1));
    }
  }
  const inner = [...sizes.keys()].filter((label) => !output.includes(label));
  const all = [...output, ...inner];
  const shape = [...output].map((label) => sizes.get(label) ?? 1);
  const extents = all.map((label) => sizes.get(label) ?? 1);
  const strides = stridesOf(extents);
  const values = new Array<number>(elementCount(shape)).fill(0);
  const perOutput = elementCount(extents) / Math.max(1, values.length);
  for (let index = 0; index < elementCount(extents); index++) {
    let term = 1;
    for (const [at, labels] of terms.entries()) {
      const input = inputs[at];
      if (input === undefined) throw new Error("an operand is missing");
      const place = [...labels].reduce((sum, label, axis) => {
        const own = all.indexOf(label);
        const position = Math.floor(index / (strides[own] ?? 1)) % (extents[own] ?? 1);
        const size = input.shape[axis] ?? 1;
        return sum * size + (size === 1 ? 0 : position);
      }, 0);
      term *= counted(input, at)[place] ?? Number.NaN;
    }
    const to = Math.floor(index / perOutput);
    values[to] = (values[to] ?? 0) + term;
  }
  return { shape, values };
}

describe("Einsum", () => {
  test.each([
    ["ij,jk->ik", [3, 4], [4, 5]],
    ["ij,kj->ki", [3, 4], [5, 4]],
    ["bij,bjk->bik", [2, 3, 4], [2, 4, 5]],
    ["bhqd,bhkd->bhqk", [2, 3, 4, 5], [2, 3, 6, 5]],
    ["bqhd,bkhd->bhqk", [2, 4, 3, 5], [2, 6, 3, 5]],
    ["bhwc,hkc->bhwk", [2, 3, 4, 5], [3, 6, 5]],
    ["bhwc,wkc->bhwk", [2, 3, 4, 5], [4, 6, 5]],
    ["i,j->ij", [3], [4]],
    ["i,i->", [7], [7]],
    ["ij,ij->i", [3, 4], [3, 4]],
    ["abcd,cdef->abef", [2, 3, 4, 5], [4, 5, 2, 3]],
    ["abcd,dcef->efab", [2, 3, 4, 5], [5, 4, 2, 3]],
    ["bqe,ehd->bqhd", [2, 3, 4], [4, 5, 6]],
    ["iij,j->i", [3, 3, 4], [4]],
    ["bij,bjk->bik", [1, 3, 4], [2, 4, 5]],
    ["i,->i", [4], []],
  ])("%s of [%s] and [%s]", (equation, a, b) => {
    const inputs = [{ shape: a }, { shape: b }];
    const wanted = einsum(equation, inputs);
    const got = run({ operator: "Einsum", attributes: { equation }, inputs, output: wanted.shape });
    expect(got).toEqual(wanted.values);
  });

  test("three operands, from left to right", () => {
    const inputs = [{ shape: [3, 4] }, { shape: [4, 5] }, { shape: [5, 3] }];
    const wanted = einsum("ij,jk,kl->il", inputs);
    const got = run({ operator: "Einsum", attributes: { equation: "ij,jk,kl->il" }, inputs, output: [3, 3] });
    expect(got).toEqual(wanted.values);
  });

  test("one operand: a transpose, a diagonal", () => {
    for (const [equation, shape] of [
      ["ij->ji", [3, 4]],
      ["bii->bi", [2, 3, 3]],
    ] as const) {
      const wanted = einsum(equation, [{ shape }]);
      const inputs = [{ shape }];
      expect(run({ operator: "Einsum", attributes: { equation }, inputs, output: wanted.shape })).toEqual(
        wanted.values,
      );
    }
  });
});

describe("MatMul", () => {
  test.each([
    [[4], [4], [], "k,k->"],
    [[4], [2, 4, 3], [2, 3], "k,bkn->bn"],
    [[2, 3, 4], [4], [2, 3], "bmk,k->bm"],
    [[3, 4], [4, 5], [3, 5], "mk,kn->mn"],
    [[2, 3, 4], [4, 5], [2, 3, 5], "bmk,kn->bmn"],
    [[2, 1, 3, 4], [3, 4, 5], [2, 3, 3, 5], "bcmk,ckn->bcmn"],
  ])("[%s] by [%s]", (a, b, output, equation) => {
    const inputs = [{ shape: a }, { shape: b }];
    expect(run({ operator: "MatMul", inputs, output })).toEqual(einsum(equation, inputs).values);
  });

  test("of integers and doubles", () => {
    for (const type of ["int32", "int64", "float64"] as const) {
      const inputs = [
        { shape: [3, 4], type },
        { shape: [4, 5], type },
      ];
      expect(run({ operator: "MatMul", inputs, output: [3, 5], type })).toEqual(
        einsum("mk,kn->mn", inputs).values,
      );
    }
  });
});

describe("Gemm", () => {
  test.each([[[3, 5]], [[1, 5]], [[5]], [[3, 1]], [[1]], [[]]])("2 Aᵀ B + 3 C with C [%s]", (shape) => {
    const inputs = [{ shape: [4, 3] }, { shape: [4, 5] }, { shape }];
    const attributes = { transA: 1, alpha: 2, beta: 3 };
    const product = einsum("km,kn->mn", inputs.slice(0, 2)).values;
    const c = counted({ shape }, 2);
    const [rows, columns] = [shape.at(-2) ?? 1, shape.at(-1) ?? 1];
    const wanted = product.map((sum, at) => {
      const [m, n] = [Math.floor(at / 5), at % 5];
      return 2 * sum + 3 * (c[(rows === 1 ? 0 : m) * columns + (columns === 1 ? 0 : n)] ?? Number.NaN);
    });
    expect(run({ operator: "Gemm", attributes, inputs, output: [3, 5] })).toEqual(wanted);
  });

  test("FusedMatMul turns its operands and multiplies by alpha", () => {
    const inputs = [{ shape: [2, 4, 3] }, { shape: [2, 5, 4] }];
    const wanted = einsum("bkm,bnk->bmn", inputs).values.map((sum) => sum / 4);
    const attributes = { transA: 1, transB: 1, alpha: 0.25 };
    expect(run({ operator: "com.microsoft::FusedMatMul", attributes, inputs, output: [2, 3, 5] })).toEqual(
      wanted,
    );
  });

  test("FusedGemm activates", () => {
    const inputs = [{ shape: [3, 4] }, { shape: [4, 5] }, { shape: [5] }];
    const attributes = { activation: "Relu" };
    const c = counted({ shape: [5] }, 2);
    const wanted = einsum("mk,kn->mn", inputs.slice(0, 2)).values.map((sum, at) =>
      Math.max(0, sum + (c[at % 5] ?? Number.NaN)),
    );
    expect(run({ operator: "com.microsoft::FusedGemm", attributes, inputs, output: [3, 5] })).toEqual(wanted);
    expect(() =>
      run({
        operator: "com.microsoft::FusedGemm",
        attributes: { activation: "Mystery" },
        inputs,
        output: [3, 5],
      }),
    ).toThrow("fuses the activation Mystery");
  });
});

describe("quantized", () => {
  const codes = (shape: readonly number[]): Input => ({
    shape,
    type: "uint8",
    values: Float64Array.from({ length: elementCount(shape) }, (_, index) => (index * 37) % 256),
  });

  test("MatMulInteger subtracts zero points, one a row or column too", () => {
    const [a, b] = [codes([3, 4]), codes([4, 5])];
    const zeroA: Input = { shape: [3], type: "uint8", values: [1, 2, 3] };
    const zeroB: Input = { shape: [5], type: "uint8", values: [4, 5, 6, 7, 8] };
    const wanted = Array.from({ length: 15 }, (_, at) => {
      const [m, n] = [Math.floor(at / 5), at % 5];
      return [0, 1, 2, 3].reduce(
        (sum, k) =>
          sum +
          ((a.values?.[m * 4 + k] ?? 0) - (zeroA.values?.[m] ?? 0)) *
            ((b.values?.[k * 5 + n] ?? 0) - (zeroB.values?.[n] ?? 0)),
        0,
      );
    });
    const inputs = [a, b, zeroA, zeroB];
    expect(run({ operator: "MatMulInteger", inputs, output: [3, 5], type: "int32" })).toEqual(wanted);
  });

  test("QLinearMatMul scales, rounds to even and stays in range", () => {
    const scalar = (value: number, type: StorageType): Input => ({ shape: [], type, values: [value] });
    const a: Input = { shape: [1, 2], type: "uint8", values: [3, 5] };
    const b: Input = { shape: [2, 3], type: "uint8", values: [1, 200, 2, 1, 200, 3] };
    const inputs = [
      a,
      scalar(0.5, "float32"),
      scalar(1, "uint8"),
      b,
      scalar(1, "float32"),
      scalar(0, "uint8"),
      scalar(1, "float32"),
      scalar(10, "uint8"),
    ];
    // Sums 6, 1200, 16: halves of them, and 10.
    expect(run({ operator: "QLinearMatMul", inputs, output: [1, 3], type: "uint8" })).toEqual([13, 255, 18]);
  });

  test("MatMulNBits expands four-bit weights with packed zero points", () => {
    // Two columns, k = 32 in two blocks of 16; codes count up, zero points 3 and 5.
    const bytes = Float64Array.from(
      { length: 2 * 2 * 8 },
      (_, index) => (index % 16) * 16 + ((index * 3) % 16),
    );
    const scales = [1, 0.5, 2, 0.25];
    const inputs: Input[] = [
      { shape: [1, 32] },
      { shape: [2, 2, 8], type: "uint8", values: bytes },
      { shape: [4], values: scales },
      { shape: [2], type: "uint8", values: [0x53, 0x53] },
    ];
    const x = counted({ shape: [1, 32] }, 0);
    const wanted = [0, 1].map((n) => {
      let sum = 0;
      for (let k = 0; k < 32; k++) {
        const block = Math.floor(k / 16);
        const byte = bytes[(n * 2 + block) * 8 + Math.floor((k % 16) / 2)] ?? Number.NaN;
        const code = k % 2 === 0 ? byte % 16 : Math.floor(byte / 16);
        sum += (x[k] ?? Number.NaN) * (code - (block === 0 ? 3 : 5)) * (scales[n * 2 + block] ?? Number.NaN);
      }
      return sum;
    });
    const attributes = { N: 2, K: 32, bits: 4, block_size: 16 };
    expect(run({ operator: "com.microsoft::MatMulNBits", attributes, inputs, output: [1, 2] })).toEqual(
      wanted,
    );
  });
});
