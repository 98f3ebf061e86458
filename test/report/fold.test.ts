import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldedLines, rowsOf } from "../../src/report/fold.ts";
import textWidth from "../../src/report/text-width.ts";

const words = fc.array(fc.stringMatching(/^[a-z]{1,30}$/), { minLength: 1, maxLength: 60 });

describe("a line that is longer than the terminal is wide", () => {
  it("is broken between words, of which none is lost, and no piece is too long", () => {
    fc.assert(
      fc.property(words, fc.integer({ min: 40, max: 140 }), (parts, columns) => {
        const line = `  ${parts.join(" ")}`;
        const pieces = foldedLines([line], columns);
        expect(pieces.join(" ").split(/ +/)).toEqual(line.split(/ +/));
        for (const piece of pieces) expect(textWidth(piece)).toBeLessThanOrEqual(columns);
      }),
    );
  });

  it("hangs below its text, colours counted as nothing", () => {
    const line = `  \u001b[31merror\u001b[39m  TC301 ${"nchw ".repeat(9).trimEnd()}`;
    expect(foldedLines([line], 40)).toEqual([
      "  \u001b[31merror\u001b[39m  TC301 nchw nchw nchw nchw nchw",
      "         nchw nchw nchw nchw",
    ]);
    expect(rowsOf([line, "short"], 40)).toBe(3);
  });

  it.each([
    "--fix --precision fp16;",
    "--fix --precision fp16 --unsafe-fixes:",
    "lint with --stack ort-cuda-nhwc",
    "tc-lint explain TC102",
    "1.75 ms",
    "(-0.5 %),",
  ])("keeps a command whole, which in half is another, and a figure with its unit: %s", (whole) => {
    const [part] = whole.match(/--.*|tc-lint.*|[(\d].*/) ?? [];
    for (let before = 1; before < 60; before++) {
      const line = `  ${"a ".repeat(before)}${whole} and so on, and on`;
      expect(foldedLines([line], 44).filter((piece) => piece.includes(part ?? whole))).toHaveLength(1);
    }
  });

  it("counts the rows that a word takes which fits nowhere", () => {
    expect(rowsOf([`  in /${"models/".repeat(18)}a.onnx`], 60)).toBe(4);
  });

  it("keeps a path whole, and all as it is where there is no terminal", () => {
    const path = `/${"models/".repeat(12)}resnet50.onnx`;
    expect(foldedLines([`  in ${path}`], 60)).toEqual(["  in", `         ${path}`]);
    expect(foldedLines([`  in ${path}`], undefined)).toEqual([`  in ${path}`]);
  });
});
