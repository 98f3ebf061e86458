/** Emitted kernels: their texts through ptxas, what they depend on, and how chains are spread over threads. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { BinaryOp, CompareOp, Expr, ScalarType, UnaryOp } from "../../../cuda-runtime/ir/expr.ts";
import * as build from "../../../cuda-runtime/ir/expr-build.ts";
import { decoded, encoded } from "../../../cuda-runtime/ir/small-float-expr.ts";
import { h200, type Launch } from "../../../cuda-runtime/ir/step.ts";
import { isCodeStorage, type StorageType, storageTypes } from "../../../cuda-runtime/ir/storage.ts";
import {
  type DeviceBuffer,
  expanded,
  permuted,
  sliced,
  stridesOf,
  type View,
} from "../../../cuda-runtime/ir/view.ts";
import { compileChain } from "../../../cuda-runtime/ptx/compile.ts";
import { divisionBy } from "../../../cuda-runtime/ptx/fields.ts";
import { floatFunctions } from "../../../cuda-runtime/ptx/operations.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";

const turing = machineNamed("t4");

let buffers = 0;

function view(type: StorageType, shape: readonly number[], order?: readonly number[]): View {
  const buffer: DeviceBuffer = { id: buffers++, kind: "temporary", bytes: 0, name: "test" };
  return { buffer, type, shape, strides: stridesOf(shape, order), offset: 0 };
}

function compile(expr: Expr, to: View, target = h200): Launch {
  const launch = compileChain({ shape: to.shape, outputs: [{ expr, to }] }, target);
  if (launch === undefined) throw new Error("no launch");
  return launch;
}

function textOf({ kernel }: Launch): string {
  if (kernel.kind !== "ptx") throw new Error("not PTX");
  return kernel.text;
}

const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-ptx-"));
afterAll(() => rmSync(folder, { recursive: true }));

function hasPtxas(): boolean {
  try {
    execFileSync("ptxas", ["--version"], { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
}

const isAbsent = !hasPtxas();
if (isAbsent) console.log("ptxas is not installed: emitted PTX is not assembled");

/** All kernels of a test as one module: starting ptxas takes longer than assembling. */
function assemble(launches: readonly Launch[], architecture: string): void {
  const texts = new Map(launches.map((launch) => [launch.kernel.entry, textOf(launch)]));
  const header = /^(?:\.version|\.target|\.address_size).*\n/gm;
  const first = [...texts.values()][0] ?? "";
  const bodies = [...texts].map(([entry, text]) =>
    text.replace(header, "").replaceAll(/\btable(\d+)\b/g, `${entry}_table$1`),
  );
  const file = path.join(folder, "chains.ptx");
  writeFileSync(file, [...(first.match(header) ?? []), ...bodies].join("\n"));
  execFileSync("ptxas", ["-O1", `-arch=${architecture}`, "-o", path.join(folder, "chains.cubin"), file], {
    stdio: "pipe",
  });
}

const targets = [
  { target: turing, architecture: "sm_75" },
  { target: h200, architecture: "sm_90" },
];
const types = Object.keys(storageTypes) as StorageType[];
const floats: readonly StorageType[] = ["float32", "float16", "bfloat16", "float64"];
const integers: readonly StorageType[] = [
  "int8",
  "uint8",
  "int16",
  "uint16",
  "int32",
  "uint32",
  "int64",
  "uint64",
];
const binaryOps: readonly BinaryOp[] = ["add", "sub", "mul", "div", "mod", "fmod", "pow", "min", "max"];
const bitOps: readonly BinaryOp[] = ["and", "or", "xor", "shl", "shr"];
const compareOps: readonly CompareOp[] = ["eq", "ne", "lt", "le", "gt", "ge"];

describe.skipIf(isAbsent).each(targets)("ptxas for $architecture", ({ target, architecture }) => {
  it.each(floats)("takes functions of %s", (type) => {
    const names = Object.keys(floatFunctions) as UnaryOp[];
    const shape = [37];
    assemble(
      names.map((op) => compile(build.unary(op, build.load(view(type, shape))), view(type, shape), target)),
      architecture,
    );
  });

  it.each(types)("takes operations of %s", (type) => {
    const shape = [6, 8];
    const [a, b] = [build.load(view(type, shape)), build.load(view(type, [8]))];
    const isFloat = floats.includes(type);
    const arithmetic = type === "bool" ? (["and", "or", "xor"] as const) : binaryOps;
    const exprs = [
      ...arithmetic.map((op) => build.binary(op, a, b)),
      ...(integers.includes(type) ? bitOps.map((op) => build.binary(op, a, b)) : []),
      ...(isFloat ? [] : [build.unary("not", a)]),
      ...(integers.includes(type) ? (["neg", "abs", "sign"] as const).map((op) => build.unary(op, a)) : []),
      build.select(build.compare("lt", a, b), a, b),
    ];
    const truths = [
      ...compareOps.map((op) => build.compare(op, a, b)),
      ...(["isnan", "isposinf", "isneginf"] as const).map((op) => build.test(op, a)),
    ];
    assemble(
      [
        ...exprs.map((expr) => compile(expr, view(type, shape), target)),
        ...truths.map((expr) => compile(expr, view("bool", shape), target)),
      ],
      architecture,
    );
  });

  it.each(types)("takes conversions from %s", (from) => {
    const shape = [40];
    const x = build.load(view(from, shape));
    const narrowed = (
      ["float16", "bfloat16", "int8", "uint8", "int16", "uint16", "int4", "uint4", "int2", "uint2"] as const
    )
      .filter(() => from !== "bool")
      .map((to) => compile(build.narrow(to, x), view(from, shape), target));
    assemble([...types.map((to) => compile(x, view(to, shape), target)), ...narrowed], architecture);
  });

  it.each(types.filter(isCodeStorage))("takes %s to a number and back", (type) => {
    const [x, code] = [build.load(view("float32", [40])), build.load(view(type, [40]))];
    assemble(
      [
        compile(encoded(type, x, true), view(type, [40]), target),
        compile(encoded(type, x, false), view(type, [40]), target),
        compile(decoded(type, code), view("float16", [40]), target),
      ],
      architecture,
    );
  });

  it.each(types)("takes %s in every width, alignment and order", (type) => {
    const x = view(type, [4, 6, 8, 16]);
    const inputs = [
      x,
      ...[1, 2, 4].flatMap((offset) => [{ ...x, offset }, sliced(x, 3, offset, 16 - offset)]),
      sliced(x, 3, 0, 8, 2),
      { ...x, strides: x.strides.map((stride) => -stride), offset: 4 * 6 * 8 * 16 - 1 },
      permuted(x, [0, 2, 3, 1]),
      permuted(x, [3, 1, 2, 0]),
      expanded(view(type, [8, 1]), x.shape),
      expanded(view(type, []), x.shape),
      view(type, [1023]),
      view(type, [3, 5]),
      view(type, []),
    ];
    assemble(
      inputs.map((input) => compile(build.load(input), view(type, input.shape), target)),
      architecture,
    );
  });

  it("takes constants, coordinates and several outputs", () => {
    const shape = [5, 24];
    const at = build.index(0, 24);
    const row = build.convert("f32", build.index(1, 5));
    const x = build.load(view("float16", shape));
    const sum = build.add(x, row);
    const scalars: readonly ScalarType[] = ["f32", "f64", "i32", "u32", "i64", "u64", "bool"];
    const several = compileChain(
      {
        shape,
        outputs: [
          { expr: sum, to: view("float16", shape) },
          { expr: build.compare("gt", sum, build.constant("f32", 3)), to: view("bool", shape) },
          { expr: build.convert("i64", at), to: view("int64", shape) },
        ],
      },
      target,
    );
    const constants = scalars.flatMap((scalar) =>
      types.map((type) => compile(build.constant(scalar, 1), view(type, shape), target)),
    );
    assemble([...(several === undefined ? [] : [several]), ...constants], architecture);
    expect(several?.writes).toHaveLength(3);
  });
});

describe("launches that overlap", () => {
  const shapes: readonly (readonly number[])[] = [[64], [3, 65, 7], [2, 96, 4096], [1, 5]];

  it.each(shapes.map((shape) => ({ shape })))(
    "let the next one in, and wait before memory: $shape",
    ({ shape }) => {
      const x = build.load(view("float16", shape));
      const sum = build.binary(
        "add",
        x,
        build.load(view("float16", shape, shape.map((_, axis) => axis).reverse())),
      );
      const lines = textOf(compile(sum, view("float16", shape)))
        .split("\n")
        .map((line) => line.trim());
      const at = (part: string) => lines.findIndex((line) => line.includes(part));
      const wait = at("griddepcontrol.wait");
      expect(lines.filter((line) => line.startsWith("griddepcontrol"))).toEqual([
        "griddepcontrol.launch_dependents;",
        "griddepcontrol.wait;",
      ]);
      const before = lines.slice(at("griddepcontrol.launch_dependents"), wait);
      expect(before.filter((line) => /^(?:ld|st|red|atom)\S*global|bra |^@|:$/.test(line))).toEqual([]);
      // Where elements lie is known by then.
      expect(before.length).toBeGreaterThan(9);
      expect(at("ld.global")).toBeGreaterThan(wait);
    },
  );

  it("are none before sm_90", () => {
    const text = textOf(compile(build.load(view("float16", [64])), view("float32", [64]), turing));
    expect(text).not.toContain("griddepcontrol");
  });
});

describe("a chain's text", () => {
  const relu = (x: View) => build.binary("max", build.load(x), build.constant("f32", 0));

  it("is the same for other sizes of the same structure", () => {
    const kernelOf = (shape: readonly number[]) => {
      const bias = view("float16", shape.slice(-1));
      const sum = build.add(build.load(view("float16", shape)), build.load(bias));
      return compile(sum, view("float16", shape)).kernel;
    };
    expect(kernelOf([4, 64])).toEqual(kernelOf([77, 128]));
    expect(kernelOf([4, 64])).not.toEqual(kernelOf([77, 127]));
  });

  it("loads what is read twice once", () => {
    const x = view("float32", [64]);
    const square = build.multiply(build.load(x), build.load({ ...x }));
    const launch = compile(square, view("float32", [64]));
    expect(textOf(launch).match(/ld\.global/g)).toHaveLength(1);
    expect(launch.reads).toHaveLength(1);
  });

  it("reads and writes 16 bytes at a time", () => {
    const half = textOf(compile(relu(view("float16", [2, 8, 4])), view("float16", [2, 8, 4])));
    expect(half).toContain("ld.global.v4.b32");
    expect(half).toContain("st.global.v4.b32");
    const single = textOf(compile(relu(view("float32", [64])), view("float32", [64])));
    expect(single).toContain("ld.global.v4.f32");
  });

  it("has a tail where the elements do not fill whole rows", () => {
    const launch = compile(relu(view("float16", [1001])), view("float16", [1001]));
    expect(textOf(launch).match(/st\.global/g)).toHaveLength(2);
    expect(launch.grid[0] * launch.block[0]).toBeGreaterThanOrEqual(125);
  });

  it("goes element by element over rows of odd length", () => {
    const bias = build.load(view("float16", [1, 33]));
    const launch = compile(build.add(build.load(view("float16", [10, 33])), bias), view("float16", [10, 33]));
    expect(textOf(launch)).not.toContain(".v2");
    expect(textOf(launch)).toContain("st.global.b16");
  });

  it("is fast only where the results are halves", () => {
    const text = (type: StorageType) =>
      textOf(compile(build.unary("sigmoid", build.load(view(type, [64]))), view(type, [64])));
    expect(text("float16")).toContain("rcp.approx");
    expect(text("float32")).not.toContain("rcp.approx");
  });

  it("follows the output's memory", () => {
    const nhwc = [0, 2, 3, 1];
    const x = view("float16", [2, 8, 3, 3], nhwc);
    const bias = view("float16", [8, 1, 1]);
    const launch = compile(build.add(build.load(x), build.load(bias)), view("float16", [2, 8, 3, 3], nhwc));
    expect(launch.detail).toContain("[18,8], 8×1");
  });
});

describe("compileChain", () => {
  it("gives nothing for no elements", () => {
    const to = view("float32", [3, 0]);
    expect(compileChain({ shape: to.shape, outputs: [{ expr: build.constant("f32", 1), to }] }, h200)).toBe(
      undefined,
    );
  });

  it("gives each thread several rows of a large simple chain", () => {
    const shape = [1 << 24];
    const { detail, grid, block } = compile(build.load(view("float16", shape)), view("float16", shape));
    expect(detail).toContain("8×2 a thread");
    expect(grid[0] * block[0] * 16).toBe(1 << 24);
  });

  it("refuses 2^31 elements", () => {
    expect(() => compile(build.constant("f32", 0), view("float32", [2 ** 16, 2 ** 15]))).toThrow("2^31");
  });
});

describe("divisionBy", () => {
  it("divides everything below 2^31", () => {
    const divisors = [1, 2, 3, 5, 7, 8, 10, 127, 128, 641, 65_535, 65_537, 2 ** 30 + 1, 2 ** 31 - 1];
    for (const divisor of divisors) {
      const { multiplier, shift } = divisionBy(divisor);
      expect(multiplier).toBeLessThan(2 ** 32);
      const numbers = [0, 1, divisor - 1, divisor, divisor + 1, 2 ** 31 - 1, 2 ** 31 - divisor, 123_456_789];
      for (const n of numbers.filter((each) => each >= 0 && each < 2 ** 31)) {
        expect(Number((BigInt(n) * BigInt(multiplier)) >> BigInt(shift))).toBe(Math.floor(n / divisor));
      }
    }
  });
});
