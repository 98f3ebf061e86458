/** @file Linked nodes of forests in a file beside the program, which scripts/link-forests.ts writes: a run reads those that it asks, and links none. */
import { closeSync, openSync, readSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Linked, LinkedNodes } from "../cost/forest.ts";

const wordBytes = Int32Array.BYTES_PER_ELEMENT;

/** Roots first. Words are as the machine has them: little-endian wherever Node runs. */
export function linkedBytes({ nodes, roots }: Linked): Uint8Array {
  const words = Int32Array.from([...roots, ...nodes]);
  return new Uint8Array(words.buffer);
}

/** `trees` roots and `count` nodes behind them, from `firstByte` of `file` on. */
export function linkedIn(file: URL, firstByte: number, trees: number, count: number): LinkedNodes {
  return {
    read() {
      const words = new Int32Array(trees + count);
      const path = fileURLToPath(file);
      const opened = openSync(path, "r");
      try {
        const read = readSync(opened, words, 0, words.byteLength, firstByte);
        if (read !== wordBytes * words.length) throw new Error(`${path} is cut short`);
      } finally {
        closeSync(opened);
      }
      return { roots: words.subarray(0, trees), nodes: words.subarray(trees) };
    },
  };
}
