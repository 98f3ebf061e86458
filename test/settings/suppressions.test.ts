import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonText } from "../../src/report/json-text.ts";
import {
  parseSuppressions,
  type Suppressions,
  suppressionsSchema,
  suppressionsValue,
} from "../../src/settings/suppressions.ts";

const names = fc.oneof(
  fc.constantFrom("__proto__", "constructor", "toString", "../a.onnx", "a\u202eb", '"\n\\', ""),
  fc.string({ unit: "grapheme" }),
);
const rules = fc
  .array(fc.tuple(names, fc.integer({ min: 1, max: 2 ** 53 - 1 })), { minLength: 1, maxLength: 4 })
  .map((entries) => new Map(entries));
const minSaving = fc.double({ min: 0, max: 1, noNaN: true }).map((share) => share + 0);
const model = fc.record({ at: fc.uniqueArray(names), minSaving, digest: fc.string(), rules });
const files = fc
  .array(fc.tuple(names, model), { maxLength: 6 })
  .map((entries): Suppressions => new Map(entries));
const textOf = (file: Suppressions) => jsonText(suppressionsValue(file));

test("what is written is read back, whatever a model is called", () => {
  fc.assert(
    fc.property(files, (file) => {
      const read = parseSuppressions(textOf(file), "file.json");
      const sorted = ({ at, ...rest }: { at: readonly string[] }) => ({ ...rest, at: [...at].sort() });
      expect(new Map([...read].map(([path, each]) => [path, sorted(each)]))).toEqual(
        new Map([...file].map(([path, each]) => [path, sorted(each)])),
      );
    }),
  );
});

test("in whatever order it came about, the text is the same", () => {
  fc.assert(
    fc.property(files, (file) => {
      const reversed = new Map([...file].reverse());
      expect(textOf(reversed)).toBe(textOf(file));
    }),
  );
});

test("a file written by hand needs counts only", () => {
  const text = '{"version": 1, "models": {"a.onnx": {"rules": {"TC102": {"count": 2}}}}}';
  const read = parseSuppressions(text, "file.json");
  expect(read).toEqual(
    new Map([["a.onnx", { at: [], minSaving: 0.005, digest: "", rules: new Map([["TC102", 2]]) }]]),
  );
});

test("the shipped schema is the one that is checked by (npm run schemas)", () => {
  const shipped = readFileSync(new URL("../../schemas/suppressions.schema.json", import.meta.url), "utf8");
  expect(JSON.parse(shipped)).toEqual(suppressionsSchema);
});
