/** What a model is called stays text where a forge shows Markdown. */
import { expect, test } from "vitest";
import { escaped } from "../../src/report/markdown-text.ts";

/** What is left once a forge has turned entities into characters, which is where it looks for people, issues and addresses. */
const shown = (text: string) =>
  escaped(text).replaceAll(/&#(\d+);/g, (_, digits: string) => String.fromCodePoint(Number(digits)));

test.each(["@octo/owners", "see #123 there", "https://evil.example", "www.evil.example", "me@evil.example"])(
  "%s is no link, and calls nobody",
  (text) => {
    expect(shown(text)).not.toMatch(/@\w|#\d|:\/\/|www\./);
    expect(shown(text).replaceAll("\u200b", "").replaceAll("\\", "")).toBe(text);
  },
);

test.each(["!7", "%12", "~bug", "&3", "$5", "see GH-12", ":tada: done", "a $`x`$ b", "$x^2$"])(
  "%s is no merge request, milestone, label, epic, snippet, issue, picture or formula",
  (text) => {
    expect(escaped(text)).not.toContain("$");
    expect(shown(text)).not.toMatch(/[!%~&$][a-z0-9]|GH-\d|:\w+:/);
    expect(shown(text).replaceAll("\u200b", "").replaceAll("\\", "")).toBe(text);
  },
);

test("layers' names are as they were", () => {
  expect(escaped("/model/layer.0/attn: q @ k, 64 # rows")).toBe(
    "/model/layer.0/attn: q &#64; k, 64 &#35; rows",
  );
});
