/** @file Commands of the documentation that go through npx: without `--`, npm takes tc-lint's flags for its own. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const pages = readdirSync(path.join(root, "docs")).filter((name) => name.endsWith(".md"));

test.each(["README.md", ...pages.map((name) => `docs/${name}`)])("%s: npx --no is followed by --", (name) => {
  const text = readFileSync(path.join(root, name), "utf8");
  expect(text.match(/npx --no(?:-install)? (?!-- )\S+/g) ?? []).toEqual([]);
});
