import fc from "fast-check";
import { describe, expect, it } from "vitest";
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

describe("strings that are longer than anyone reads", () => {
  const long = (last: string) => `${"n".repeat(1 << 20)}${last}`;

  it("are cut in their middle, values and keys, and every value stays", () => {
    const data = { [long("a")]: [long("b"), 1], [long("a ")]: 2, [long("c")]: 3, short: long("\u{1f600}") };
    const text = jsonText({ data });
    expect(text.length).toBeLessThan(200_000);
    const read: unknown = JSON.parse(text).data;
    const values = Object.values(Object(read));
    expect(values).toHaveLength(4);
    expect(values[0]).toEqual([expect.stringMatching(/^n+…n+b$/), 1]);
  });

  it("that differ in what is cut out keep a key each", () => {
    const key = (middle: string) => `${"n".repeat(100_000)}${middle}${"n".repeat(100_000)}`;
    const text = jsonText(Object.fromEntries(["a", "b", "c"].map((middle) => [key(middle), middle])));
    expect(Object.values(JSON.parse(text))).toEqual(["a", "b", "c"]);
    expect(text.length).toBeLessThan(100_000);
  });

  it("are cut between characters, never through one", () => {
    for (const shift of ["", "x"]) {
      const text = JSON.parse(jsonText(`${shift}${"\u{1f600}".repeat(100_000)}`));
      expect(text).toContain("…");
      expect(text).not.toMatch(/\p{Cs}/u);
    }
  });
});
