/** @file Caches and attention run on the CPU by the meaning of their parameter structs. */
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { attentionStruct } from "../../../cuda-runtime/kernels/attention/params.table.ts";
import { attentionHopperStruct } from "../../../cuda-runtime/kernels/attention-hopper/params.table.ts";
import { cacheStruct } from "../../../cuda-runtime/kernels/cache/params.table.ts";
import type { ElementMemory } from "./struct-reader.ts";
import { type Fields, fieldsOf } from "./struct-reader.ts";

/** Elements of a buffer from a view's first one on, at any distance from it. */
class Cells {
  readonly #machine: ElementMemory;
  readonly #view: View;

  constructor(machine: ElementMemory, view: View | undefined) {
    if (view === undefined) throw new Error("an operand is missing");
    this.#machine = machine;
    this.#view = view;
  }

  #at(index: number): View {
    return { ...this.#view, shape: [1], strides: [1], offset: this.#view.offset + index };
  }

  get(index: number): number {
    return this.#machine.read(this.#at(index))[0] ?? Number.NaN;
  }

  set(index: number, value: number): void {
    this.#machine.write(this.#at(index), [value]);
  }
}

/** Every coordinate below the sizes. */
function* places(...sizes: readonly number[]): Generator<readonly number[]> {
  const count = sizes.reduce((total, size) => total * size, 1);
  for (let index = 0; index < count; index++) {
    let rest = index;
    yield sizes
      .toReversed()
      .map((size) => {
        const at = rest % size;
        rest = Math.floor(rest / size);
        return at;
      })
      .toReversed();
  }
}

export function runCacheAppend(launch: Launch, machine: ElementMemory): void {
  const fields = fieldsOf(launch, cacheStruct);
  const { int } = fields;
  const cells = (name: string) => new Cells(machine, fields.view(name));
  const [batch, kvHeads, length, dim] = [int("batch"), int("kvHeads"), int("length"), int("dim")];
  const [before, all] = [int("pastLength"), int("presentLength")];
  const samples = Array.from({ length: batch }, (_, sample) => {
    const valid = cells("lengths").get(sample) + 1;
    cells("counts").set(sample, valid);
    return { valid, past: int("isPrompt") === 1 ? 0 : Math.min(Math.max(valid - length, 0), before) };
  });
  const turn = turning(fields, machine, samples);
  if (fields.view("turnedQ") !== undefined) {
    const heads = int("heads");
    for (const [b = 0, h = 0, s = 0] of places(batch, heads, length))
      turn("q", b, h, s, (i, value) => cells("turnedQ").set(((b * heads + h) * length + s) * dim + i, value));
  }
  for (const [b = 0, h = 0, row = 0] of places(batch, kvHeads, all)) {
    const { past = 0 } = samples[b] ?? {};
    const at = ((b * kvHeads + h) * all + row) * dim;
    for (const [name, present, old] of [
      ["k", "presentK", "pastK"],
      ["v", "presentV", "pastV"],
    ] as const) {
      if (row >= past && row < past + length) {
        turn(name, b, h, row - past, (i, value) => cells(present).set(at + i, value));
      } else if (int("fillsPresent") === 1) {
        const from = ((b * kvHeads + h) * before + row) * dim;
        for (let i = 0; i < dim; i++) cells(present).set(at + i, row < past ? cells(old).get(from + i) : 0);
      }
    }
  }
}

type Turn = (
  name: "q" | "k" | "v",
  b: number,
  h: number,
  s: number,
  put: (i: number, value: number) => void,
) => void;

/** Elements of a head's vector, turned where that is asked for. */
function turning(
  fields: Fields,
  machine: ElementMemory,
  samples: readonly { valid: number; past: number }[],
): Turn {
  const { int } = fields;
  const [pairs, dim, length] = [int("pairs"), int("dim"), int("length")];
  const isInterleaved = int("isInterleaved") === 1;
  return (name, b, h, s, put) => {
    const from = new Cells(machine, fields.view(name));
    const at = b * int(`${name}Batch`) + h * int(`${name}Head`) + s * int(`${name}Row`);
    const isTurned = name !== "v" && fields.view("cos") !== undefined;
    for (let i = isTurned ? 2 * pairs : 0; i < dim; i++) put(i, from.get(at + i));
    if (!isTurned) return;
    const { valid = 0, past = 0 } = samples[b] ?? {};
    const own = int("isPrompt") === 1 || past + s < valid ? past + s : 1;
    const given = fields.view("positions");
    const position = given === undefined ? own : new Cells(machine, given).get(b * length + s);
    for (let pair = 0; pair < pairs; pair++) {
      const [i, j] = isInterleaved ? [2 * pair, 2 * pair + 1] : [pair, pair + pairs];
      const [x, y] = [from.get(at + i), from.get(at + j)];
      const c = new Cells(machine, fields.view("cos")).get(position * pairs + pair);
      const sine = new Cells(machine, fields.view("sin")).get(position * pairs + pair);
      put(i, x * c - y * sine);
      put(j, x * sine + y * c);
    }
  };
}

/** Plain attention; masks, caps and splits are other tests' affair. */
export function runAttention(launch: Launch, machine: ElementMemory): void {
  const { kernel } = launch;
  const isHopper = kernel.kind === "built" && kernel.family === "attention-hopper";
  const fields = isHopper
    ? fieldsOf(launch, attentionHopperStruct).within("p", attentionStruct)
    : fieldsOf(launch, attentionStruct);
  const { int } = fields;
  const cells = (name: string) => new Cells(machine, fields.view(name));
  const [q, k, v, o] = [cells("q"), cells("k"), cells("v"), cells("o")];
  if (fields.view("bias") !== undefined || int("splits") !== 1) throw new Error("not plain attention");
  const [queries, dim, valueDim] = [int("queries"), int("dim"), int("valueDim")];
  const group = int("group");
  for (const [b = 0, h = 0, s = 0] of places(int("batch"), int("heads"), queries)) {
    const counts = fields.view("keyCounts");
    const count =
      counts === undefined ? int("keys") : Math.min(new Cells(machine, counts).get(b), int("keys"));
    const position = s + (int("endAligned") === 1 ? count - queries : int("position"));
    const weights: number[] = [];
    for (let key = 0; key < count; key++) {
      let score = 0;
      const from = b * int("kBatch") + Math.floor(h / group) * int("kHead") + key * int("kRow");
      for (let i = 0; i < dim; i++)
        score += q.get(b * int("qBatch") + h * int("qHead") + s * int("qRow") + i) * k.get(from + i);
      const isSeen = key <= position + int("right") && key >= position - int("left");
      weights.push(isSeen ? Math.exp(score * fields.float("scale")) : 0);
    }
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (let i = 0; i < valueDim; i++) {
      let sum = 0;
      for (const [key, weight] of weights.entries()) {
        const at = b * int("vBatch") + Math.floor(h / group) * int("vHead") + key * int("vRow") + i;
        if (weight > 0) sum += weight * v.get(at);
      }
      o.set(b * int("oBatch") + h * int("oHead") + s * int("oRow") + i, sum / total);
    }
  }
}
