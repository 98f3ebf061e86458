/**
 * @file Products and convolutions of codes by every kernel that takes them: what cost.ts chooses by is checked against.
 *
 *     node dist/gpu/code-tiles.js [--only PART,…]
 *
 * Layers of ResNet-50 and BERT, with codes between and a residual of codes where the networks have one. Prints, row by row, what is
 * chosen beside what is fastest; writes $OUT/code-tiles.jsonl: {row, tile, splits, parts, us, predicted}.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { noActivation } from "../../cuda-runtime/ir/epilogue.ts";
import { permuted, type View } from "../../cuda-runtime/ir/view.ts";
import {
  type CodeEpilogue,
  emitCodeConv,
  emitCodeProduct,
} from "../../cuda-runtime/kernels/gemm-int8/code-product.ts";
import type { CodeNumbers } from "../../cuda-runtime/kernels/gemm-int8/codes.ts";
import { codeProductMicroseconds, type TileChoice } from "../../cuda-runtime/kernels/gemm-int8/cost.ts";
import type { CodeTail } from "../../cuda-runtime/kernels/gemm-int8/tail.ts";
import { nameOfTile } from "../../cuda-runtime/kernels/gemm-int8/tiles.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { CallSet, setCount, timeCalls } from "../../cuda-runtime/session/kernel-timer.ts";

interface Row {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly hasResidual: boolean;
  /** Of a 3 x 3 convolution: images, and positions of a side. */
  readonly image?: readonly [number, number];
}

/** Channels between, positions of a side, at a batch. */
const stages = [
  [64, 56],
  [128, 28],
  [256, 14],
  [512, 7],
] as const;
const residual: readonly Row[] = [1, 32].flatMap((batch) =>
  stages.flatMap(([channels, side]) => {
    const m = batch * side * side;
    return [
      { m, n: channels, k: 4 * channels, hasResidual: false },
      { m, n: channels, k: 9 * channels, hasResidual: false, image: [batch, side] as const },
      { m, n: 4 * channels, k: channels, hasResidual: true },
    ];
  }),
);
const plain = [
  [128, 768, 768],
  [128, 2304, 768],
  [128, 3072, 768],
  [128, 768, 3072],
  [1, 1000, 2048],
  [32, 1000, 2048],
].map(([m = 0, n = 0, k = 0]): Row => ({ m, n, k, hasResidual: false }));

const { values: options } = parseArgs({
  options: { only: { type: "string" }, device: { type: "string", default: "0" } },
});

function nameOf({ m, n, k, hasResidual, image }: Row): string {
  return `${m}x${n}x${k}${image === undefined ? "" : " 3x3"}${hasResidual ? " + residual" : ""}`;
}

const numbers = (scale: number): CodeNumbers => ({ type: "int8", scale, zero: 0 });

function tailOf(view: View): CodeTail {
  return {
    ...{ between: numbers(0.037), activation: noActivation, hasRelu: true, to: numbers(0.0291) },
    residual: { view, codes: numbers(0.0213) },
  };
}

function epilogueOf(set: CallSet, { m, n, k, hasResidual }: Row): CodeEpilogue {
  const scale = set.emitter.constant(
    "float32",
    [n],
    Array.from({ length: n }, () => 1 / (64 * k)),
  );
  return { scale, tail: hasResidual ? tailOf(set.tensor("input", "int8", [m, n], 3)) : undefined };
}

function callOf(host: HarnessHost, row: Row, accepts: (choice: TileChoice) => boolean) {
  const set = new CallSet(host, false);
  const { m, n, k, image } = row;
  const epilogue = epilogueOf(set, row);
  if (image === undefined) {
    const a = set.tensor("input", "int8", [m, k], 1);
    const b = permuted(set.tensor("constant", "int8", [n, k], 2), [1, 0]);
    emitCodeProduct(set.emitter, { a, b, to: set.output("int8", [m, n]), epilogue, accepts });
  } else {
    const [images, side] = image;
    const last = (shape: readonly [number, number, number, number], seed: number) => {
      const [batch, channels, height, width] = shape;
      return permuted(set.tensor("input", "int8", [batch, height, width, channels], seed), [0, 3, 1, 2]);
    };
    const x = last([images, k / 9, side, side], 1);
    const w = set.tensor("constant", "int8", [n, k / 9, 3, 3], 2);
    const to = permuted(set.output("int8", [images, side, side, n]), [0, 3, 1, 2]);
    const window = { x, w, to, strides: [1, 1], dilations: [1, 1], pads: [1, 1] } as const;
    emitCodeConv(set.emitter, window, { epilogue, accepts });
  }
  set.prepare();
  return { set, tail: epilogue.tail };
}

/** All that take it. */
function waysOf(host: HarnessHost, row: Row): TileChoice[] {
  const found: TileChoice[] = [];
  const { set } = callOf(host, row, (choice) => {
    found.push(choice);
    return true;
  });
  set[Symbol.dispose]();
  return found;
}

interface Timed {
  readonly row: string;
  readonly tile: string;
  readonly splits: number;
  readonly parts: number;
  readonly us: number;
  readonly predicted: number;
}

function timed(host: HarnessHost, row: Row, choice: TileChoice): Timed {
  const { m, n, k, hasResidual } = row;
  const bytes = m * k + n * k + m * n * (hasResidual ? 2 : 1);
  const count = Math.min(12, setCount(bytes, host.context.device.l2Bytes));
  const calls = Array.from({ length: count }, () => callOf(host, row, (each) => isSame(each, choice)));
  const tail = calls[0]?.tail;
  const predicted = codeProductMicroseconds(
    { m, n, k, batch: 1 },
    choice,
    { type: "int8", tail },
    host.target,
  );
  try {
    const us =
      Math.round(
        100 *
          timeCalls(
            host,
            calls.map(({ set }) => set),
          ),
      ) / 100;
    return {
      row: nameOf(row),
      tile: nameOfTile(choice.tile),
      splits: choice.splits,
      parts: choice.parts,
      us,
      predicted,
    };
  } finally {
    for (const { set } of calls) set[Symbol.dispose]();
  }
}

function isSame(a: TileChoice, b: TileChoice): boolean {
  return a.tile === b.tile && a.splits === b.splits && a.parts === b.parts;
}

const kernels = new URL("../cuda/", import.meta.url);
using host = await HarnessHost.open({ kernels, device: Number(options.device) });
const only = options.only?.split(",");
const rows: Timed[] = [];
const losses: number[] = [];
for (const row of [...residual, ...plain]) {
  const name = nameOf(row);
  if (only !== undefined && !only.some((part) => name.includes(part))) continue;
  const all = waysOf(host, row)
    .filter(({ tile: { m, n } }) => row.m > 1000 || (m <= 128 && n <= 128))
    .map((choice) => timed(host, row, choice));
  rows.push(...all);
  const [fastest] = all.toSorted((a, b) => a.us - b.us);
  const [chosen] = all.toSorted((a, b) => a.predicted - b.predicted);
  if (fastest === undefined || chosen === undefined) continue;
  losses.push(chosen.us / fastest.us);
  const what = ({ tile, splits, parts, us, predicted }: Timed) =>
    `${tile}/${splits}${parts > 1 ? ` in ${parts}` : ""} ${us} us (predicted ${predicted.toFixed(1)})`;
  console.log(`${name}: chosen ${what(chosen)}, fastest ${what(fastest)}`);
}
const mean = losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
console.log(`what is chosen takes ${mean.toFixed(3)} of the fastest in the mean`);
writeFileSync(
  path.join(process.env["OUT"] ?? ".", "code-tiles.jsonl"),
  rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
);
