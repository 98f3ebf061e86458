import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plain } from "../../../src/ir/format.ts";
import { escaped, html, jsonMarkup, trusted } from "../../../src/report/html/markup.ts";
import { markdownMarkup } from "../../../src/report/html/rule-page.ts";
import { attacks } from "./hostile.ts";
import { parsePage, unescaped } from "./parse.ts";

/** Letters that mean something somewhere, beside any other. */
const nasty = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(
      fc.constantFrom("<", ">", "&", '"', "'", "`", "/", "-", "!", "\u2028", "script", "\u0000", "]", "="),
      { maxLength: 20 },
    )
    .map((parts) => parts.join("")),
  fc.constantFrom(...attacks),
);

describe("text on a page", () => {
  it("is text in an element and in an attribute, and reads as it was but for what nobody can see", () => {
    fc.assert(
      fc.property(nasty, (text) => {
        expect(escaped(text)).not.toMatch(/[<>"'`\p{Cc}\p{Zl}\p{Zp}]/u);
        expect(unescaped(escaped(text))).toBe(plain(text));
        const page = parsePage(html`<p title="${text}" class="x">${text}</p>`.text);
        expect(page.tags.map(({ name, attributes }) => [name, [...attributes.keys()]])).toEqual([
          ["p", ["title", "class"]],
          ["p", []],
        ]);
        expect(page.text).toBe(plain(text));
      }),
    );
  });

  it("is cut in its middle where nobody reads it", () => {
    expect(escaped("x".repeat(1_000_000)).length).toBeLessThan(3000);
  });

  it("is markup only where it was made by a template", () => {
    expect(html`${[html`<b>${"<i>"}</b>`, "<u>", 3, undefined]}`.text).toBe("<b>&lt;i&gt;</b>&lt;u&gt;3");
    expect(html`${trusted("<b>")}`.text).toBe("<b>");
  });
});

describe("JSON inside a script element", () => {
  it("says what was written, and has nothing in it that a page reads otherwise", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(nasty, fc.double({ noNaN: true, noDefaultInfinity: true }))), (value) => {
        const { text } = jsonMarkup(value);
        expect(text).not.toMatch(/[<>&\p{Cf}\u2028\u2029\u007f-\u009f]/u);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
        expect(text).not.toMatch(/[\u0000-\u001f]/);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

describe("a rule's page", () => {
  it("has headings, code, lists and links to pages of the network", () => {
    const markdown =
      "## Why `x`\nA line\nand more [there](https://example.com/a) [here](TC101.md).\n\n- one\n- two\n\n```onnx\na = <b>\n\nc\n```\nEnd.";
    expect(markdownMarkup(markdown).text).toBe(
      `<h4>Why <code>x</code></h4><p>A line and more <a href="https://example.com/a" rel="noreferrer">there</a> here.</p>` +
        `<ul><li>one</li><li>two</li></ul><pre tabindex="0"><code>a = &lt;b&gt;\n\nc\n\n</code></pre><p>End.</p>`,
    );
  });

  it("is text, whatever it says", () => {
    fc.assert(fc.property(nasty, (text) => void parsePage(markdownMarkup(text).text)));
  });
});
