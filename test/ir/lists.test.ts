/** @file Lists of any length: nothing spreads one of a file into a call. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { finiteRange, maxOf, minOf, pushAll } from "../../src/ir/lists.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");

describe("Lists", () => {
  it("are what their spreads are", () => {
    const numbers = fc.array(fc.double());
    fc.assert(
      fc.property(numbers, numbers, (a, b) => {
        expect(maxOf(a)).toBe(Math.max(...a));
        expect(minOf(a)).toBe(Math.min(...a));
        const joined = [...a];
        pushAll(joined, b);
        expect(joined).toEqual([...a, ...b]);
      }),
    );
  });

  it("have the range of their finite numbers, with 0", () => {
    fc.assert(
      fc.property(fc.array(fc.double()), (numbers) => {
        const finite = [0, ...numbers.filter(Number.isFinite)];
        const { lowest, highest } = finiteRange(numbers);
        // Not told apart from −0.
        expect([lowest + 0, highest + 0]).toEqual([Math.min(...finite) + 0, Math.max(...finite) + 0]);
      }),
    );
  });

  it("may be longer than a call has arguments", () => {
    const many = new Array<number>(1_000_000).fill(1);
    const target: number[] = [];
    pushAll(target, many);
    expect([target.length, maxOf(many), minOf(many)]).toEqual([1_000_000, 1, 1]);
  });

  it("are spread into no call that would take them one by one", () => {
    const spread =
      /\.(push|unshift)\((?:[^()\n]*, )?\.\.\.|Math\.(max|min)\((?:[^()\n]*, )?\.\.\.|\.fromCharCode\(\.\.\./;
    const found: string[] = [];
    for (const folder of ["src", "rules", "cuda-runtime"]) {
      for (const entry of readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })) {
        if (!entry.endsWith(".ts")) continue;
        const lines = readFileSync(path.join(root, folder, entry), "utf8").split("\n");
        lines.forEach((line, index) => {
          // An array or object literal, or a template, may hold a spread of its own.
          const isComment = /^\s*(\/\*)?\*/.test(line) || line.startsWith("/**");
          const isLiteral = /\.push\([[{]/.test(line);
          if (spread.test(line) && !isComment && !isLiteral)
            found.push(`${folder}/${entry}:${index + 1}: ${line.trim()}`);
        });
      }
    }
    expect(found).toEqual([]);
  });
});
