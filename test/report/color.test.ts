/** Colours are what chalk makes of the same text, styles inside styles and lines included. */
import { Chalk } from "chalk";
import fc from "fast-check";
import { expect, test } from "vitest";
import { paletteOf, type Style } from "../../src/report/color.ts";

const chalk = new Chalk({ level: 1 });
const own = paletteOf(1);
const pairs: readonly (readonly [Style, Style])[] = [
  [own.bold, chalk.bold],
  [own.dim, chalk.dim],
  [own.code, chalk.cyan],
  [own.good, chalk.green],
  [own.bad, chalk.red.bold],
  [own.heading, chalk.bold.underline],
  [own.severity.error, chalk.red],
  [own.severity.warn, chalk.yellow],
  [own.severity.info, chalk.blue],
];

const text = fc.array(fc.constantFrom("saves", " ", "1.1 ms", "\n", "\r\n", ""), { maxLength: 6 });
const pair = fc.constantFrom(...pairs);

test("a style is chalk's, also around text that has another", () => {
  fc.assert(
    fc.property(pair, pair, text, text, ([outer, outerChalk], [inner, innerChalk], around, within) => {
      const [before, after] = [around.join(""), within.join("")];
      expect(outer(before + inner(after) + before)).toBe(outerChalk(before + innerChalk(after) + before));
    }),
  );
});

test("without colours a text stays as it is", () => {
  const plain = paletteOf(0);
  expect(plain.heading(plain.bad("1.1 ms\n"))).toBe("1.1 ms\n");
});
