/** @file Layouts that elementwise chains and copies meet, on the GPU. */

import * as build from "../../../cuda-runtime/ir/expr-build.ts";
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import {
  channelsLastOrder,
  expanded,
  permuted,
  sliced,
  stridesOf,
  type View,
} from "../../../cuda-runtime/ir/view.ts";
import { copyViews } from "../../../cuda-runtime/kernels/transpose/transpose.ts";
import { compileChain } from "../../../cuda-runtime/ptx/compile.ts";
import type { Harness, KernelCase } from "../../../cuda-runtime/session/harness.ts";
import { evaluate, exact, stored, toleranceOf, tolerances, types } from "../chain-checks.ts";

interface Layout {
  readonly name: string;
  readonly shape: readonly number[];
  readonly operands: (harness: Harness, type: StorageType) => readonly View[];
  readonly order?: readonly number[];
}

const nhwc = channelsLastOrder(4);

const layouts: readonly Layout[] = [
  {
    name: "packed",
    shape: [4096],
    operands: (h, t) => [h.tensor(t, [4096]), h.tensor(t, [4096], { seed: 2 })],
  },
  {
    name: "with a tail",
    shape: [1003],
    operands: (h, t) => [h.tensor(t, [1003]), h.tensor(t, [1003], { seed: 2 })],
  },
  {
    name: "fewer than a row",
    shape: [3],
    operands: (h, t) => [h.tensor(t, [3]), h.tensor(t, [], { seed: 2 })],
  },
  { name: "one element", shape: [], operands: (h, t) => [h.tensor(t, []), h.tensor(t, [], { seed: 2 })] },
  {
    name: "misaligned",
    shape: [1024],
    operands: (h, t) => [h.tensor(t, [1024], { offset: 1 }), h.tensor(t, [1024], { offset: 2, seed: 2 })],
  },
  {
    name: "bias of the last axis",
    shape: [70, 64],
    operands: (h, t) => [h.tensor(t, [70, 64]), h.tensor(t, [64], { seed: 2 })],
  },
  {
    name: "bias of an odd last axis",
    shape: [70, 33],
    operands: (h, t) => [h.tensor(t, [70, 33]), h.tensor(t, [33], { seed: 2 })],
  },
  {
    name: "bias of the channels",
    shape: [2, 24, 5, 8],
    operands: (h, t) => [h.tensor(t, [2, 24, 5, 8]), h.tensor(t, [24, 1, 1], { seed: 2 })],
  },
  {
    name: "channels last",
    shape: [2, 24, 5, 7],
    order: nhwc,
    operands: (h, t) => [
      h.tensor(t, [2, 24, 5, 7], { strides: stridesOf([2, 24, 5, 7], nhwc) }),
      h.tensor(t, [24, 1, 1], { seed: 2 }),
    ],
  },
  {
    name: "channels last from channels first",
    shape: [2, 24, 5, 7],
    order: nhwc,
    operands: (h, t) => [h.tensor(t, [2, 24, 5, 7]), h.tensor(t, [2, 1, 1, 7], { seed: 2 })],
  },
  {
    name: "backwards",
    shape: [6, 40],
    operands: (h, t) => [
      h.tensor(t, [6, 40], { strides: [-40, -1], offset: 239 }),
      h.tensor(t, [6, 1], { strides: [-3, 1], offset: 15, seed: 2 }),
    ],
  },
  {
    name: "every second",
    shape: [9, 32],
    operands: (h, t) => [sliced(h.tensor(t, [9, 64]), 1, 1, 32, 2), h.tensor(t, [9, 32], { seed: 2 })],
  },
  {
    name: "rows in wider rows",
    shape: [9, 32],
    operands: (h, t) =>
      [sliced(h.tensor(t, [9, 48]), 1, 8, 32), sliced(h.tensor(t, [12, 40], { seed: 2 }), 0, 1, 9)].map(
        (view) => sliced(view, 1, 0, 32),
      ),
  },
  {
    name: "outer products",
    shape: [40, 48],
    operands: (h, t) => [expanded(h.tensor(t, [40, 1]), [40, 48]), h.tensor(t, [1, 48], { seed: 2 })],
  },
  {
    name: "six axes",
    shape: [2, 3, 2, 5, 3, 8],
    operands: (h, t) => [
      permuted(h.tensor(t, [8, 3, 5, 2, 3, 2]), [5, 4, 3, 2, 1, 0]),
      h.tensor(t, [3, 1, 5, 1, 8], { seed: 2 }),
    ],
  },
  {
    name: "many elements",
    shape: [3, 300_000],
    operands: (h, t) => [h.tensor(t, [3, 300_000]), h.tensor(t, [300_000], { seed: 2 })],
  },
];

function layoutCase({ name, shape, operands, order }: Layout, type: StorageType): KernelCase {
  return {
    name: `${name} ${type}`,
    run(harness) {
      const [a, b] = operands(harness, type);
      if (a === undefined || b === undefined) throw new Error("a layout has two operands");
      const [left, right] = [harness.values(expanded(a, shape)), harness.values(expanded(b, shape))];
      const isTruth = type === "bool";
      const expr = build.binary(isTruth ? "xor" : "sub", build.load(a), build.load(b));
      const to = evaluate(harness, expr, harness.output(type, shape, order));
      const expected = Array.from(left, (x, index) => {
        const y = right[index] ?? Number.NaN;
        return isTruth ? Number(x !== y) : x - y;
      });
      harness.expectClose(to, stored(type, expected), toleranceOf(type), name);
    },
  };
}

/** Into a part of a larger tensor: what lies around it stays. */
function partialCase(type: StorageType): KernelCase {
  return {
    name: `writes a part ${type}`,
    run(harness) {
      const whole = harness.tensor(type, [10, 40], { seed: 7 });
      const before = Array.from(harness.values(whole));
      const x = harness.tensor(type, [7, 24], { seed: 8 });
      const part = sliced(sliced(whole, 0, 2, 7), 1, 3, 24);
      evaluate(harness, build.load(x), part);
      const values = harness.values(x);
      const expected = before.map((value, index) => {
        const [row, column] = [Math.floor(index / 40) - 2, (index % 40) - 3];
        const isInside = row >= 0 && row < 7 && column >= 0 && column < 24;
        return isInside ? (values[row * 24 + column] ?? Number.NaN) : value;
      });
      harness.expectClose(whole, expected, exact, "part");
    },
  };
}

const severalOutputs: KernelCase = {
  name: "several outputs and coordinates",
  run(harness) {
    const shape = [6, 5, 16];
    const x = harness.tensor("float16", shape);
    const [row, column] = [build.index(1, 5), build.index(0, 16)];
    const distance = build.subtract(column, row);
    const sum = build.add(build.load(x), build.convert("f32", distance));
    const outputs = [
      { expr: sum, to: harness.output("float32", shape) },
      {
        expr: build.compare("ge", distance, build.constant("i32", 2)),
        to: harness.output("bool", shape, [2, 0, 1]),
      },
      { expr: build.convert("i64", build.index(2, 6)), to: harness.output("int64", shape) },
    ] as const;
    const launch = compileChain({ shape, outputs }, harness.emitter.target);
    if (launch === undefined) throw new Error("nothing to launch");
    harness.emitter.launch(launch);
    harness.execute();
    const values = Array.from(harness.values(x));
    const at = values.map(
      (_, index) => [Math.floor(index / 80), Math.floor(index / 16) % 5, index % 16] as const,
    );
    const distances = at.map(([, r, c]) => c - r);
    harness.expectClose(
      outputs[0].to,
      values.map((value, index) => value + (distances[index] ?? 0)),
      tolerances.float32,
      "sum",
    );
    harness.expectClose(
      outputs[1].to,
      distances.map((value) => Number(value >= 2)),
      exact,
      "mask",
    );
    harness.expectClose(
      outputs[2].to,
      at.map(([first]) => first),
      exact,
      "first",
    );
  },
};

/** Enough rows for every thread to have several. */
const largeCase: KernelCase = {
  name: "several rows a thread",
  run(harness) {
    const count = 6_000_000 + 5;
    const x = harness.tensor("float16", [count]);
    const to = evaluate(
      harness,
      build.multiply(build.load(x), build.constant("f32", 2)),
      harness.output("float16", [count]),
    );
    harness.expectClose(
      to,
      harness.values(x).map((value) => 2 * value),
      exact,
      "doubled",
    );
  },
};

interface Copy {
  readonly from: StorageType;
  readonly to: StorageType;
  readonly shape: readonly number[];
  /** Memory orders, outermost first. */
  readonly orders: readonly [readonly number[], readonly number[]];
}

function copyCase({ from, to, shape, orders }: Copy): KernelCase {
  return {
    name: `copy ${from} to ${to} [${shape.join(",")}] {${orders[0].join("")}} to {${orders[1].join("")}}`,
    run(harness) {
      const source = harness.tensor(from, shape, { strides: stridesOf(shape, orders[0]) });
      const target = harness.output(to, shape, orders[1]);
      copyViews(harness.emitter, source, target);
      harness.execute();
      harness.expectClose(target, stored(to, Array.from(harness.values(source))), exact, "copy");
    },
  };
}

const plainOrder = [0, 1, 2, 3];
const copyShapes = [
  [2, 64, 9, 16],
  [1, 3, 65, 67],
  [3, 130, 8, 8],
  [2, 40, 1, 100],
  [1, 9, 11, 13],
] as const;

const copies: readonly Copy[] = [
  ...(["uint8", "bool", "float16", "int32", "float32", "int64", "float64"] as const).flatMap((type) =>
    copyShapes.flatMap((shape): Copy[] => [
      { from: type, to: type, shape, orders: [plainOrder, nhwc] },
      { from: type, to: type, shape, orders: [nhwc, plainOrder] },
    ]),
  ),
  ...(
    [
      ["float32", "float16"],
      ["float32", "bfloat16"],
      ["float16", "float32"],
      ["bfloat16", "float32"],
      ["float16", "bfloat16"],
      ["int64", "int32"],
    ] as const
  ).flatMap(([from, to]) =>
    copyShapes.map((shape): Copy => ({ from, to, shape, orders: [plainOrder, nhwc] })),
  ),
  {
    from: "float16",
    to: "float16",
    shape: [3, 4, 5, 6, 17, 18],
    orders: [
      [0, 1, 2, 3, 4, 5],
      [5, 1, 3, 2, 0, 4],
    ],
  },
  {
    from: "float16",
    to: "float16",
    shape: [300, 700],
    orders: [
      [0, 1],
      [1, 0],
    ],
  },
  {
    from: "float32",
    to: "float32",
    shape: [1, 300, 7],
    orders: [
      [0, 1, 2],
      [0, 2, 1],
    ],
  },
];

export const cases: readonly KernelCase[] = [
  ...layouts.flatMap((layout) =>
    (["float32", "float16", "bfloat16", "uint8", "bool", "int64"] as const).map((type) =>
      layoutCase(layout, type),
    ),
  ),
  ...types.map(partialCase),
  severalOutputs,
  largeCase,
  ...copies.map(copyCase),
];
