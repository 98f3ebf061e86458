import fc from "fast-check";
import { expect, it } from "vitest";
import { jsonText } from "../../src/report/json-text.ts";

it("means what it is given, and shows nothing but print", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string({ unit: "binary" }), (value, name) => {
      const given = { value, name: `${name}\u202e\u0085\u{e0001}\u001b[31m` };
      const text = jsonText(given);
      // Negative zero is 0 in JSON.
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(given)));
      expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
  );
});
