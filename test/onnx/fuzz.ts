/** @file Models damaged at random: each must be refused by name or linted, within its time. */
import { InputError, lint } from "../../src/index.ts";

/** Numbers from 0 to 1 that a seed determines (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One to eight bytes flipped, set, removed, repeated or moved, or the end cut off. */
export function mutate(bytes: Uint8Array, random: () => number): Uint8Array {
  let result: Uint8Array = Uint8Array.from(bytes);
  const below = (limit: number) => Math.floor(random() * limit);
  for (let count = 1 + below(8); count > 0 && result.length > 0; count--) {
    const at = below(result.length);
    const length = 1 + below(16);
    const edits: (() => Uint8Array)[] = [
      () => result.with(at, (result[at] ?? 0) ^ (1 << below(8))),
      () => result.with(at, below(256)),
      () => result.with(at, [0, 1, 0x7f, 0x80, 0xff][below(5)] ?? 0),
      () => Buffer.concat([result.subarray(0, at), result.subarray(at + length)]),
      () => Buffer.concat([result.subarray(0, at + length), result.subarray(at)]),
      () =>
        Buffer.concat([
          result.subarray(0, at),
          result.subarray(at, at + length).reverse(),
          result.subarray(at + length),
        ]),
      () => (below(10) === 0 ? result.subarray(0, Math.max(1, at)) : result),
    ];
    result = edits[below(edits.length)]?.() ?? result;
  }
  return result;
}

export interface Outcome {
  /** The code it was refused with, or "linted". */
  readonly code: string;
  readonly seconds: number;
}

/** Lints a model; anything but an InputError is thrown on. */
export async function survive(bytes: Uint8Array): Promise<Outcome> {
  const start = performance.now();
  const code = await attempt(bytes);
  return { code, seconds: (performance.now() - start) / 1000 };
}

async function attempt(bytes: Uint8Array): Promise<string> {
  try {
    const { error } = await lint(bytes);
    return error?.code ?? "linted";
  } catch (error) {
    if (error instanceof InputError) return error.code;
    throw error;
  }
}
