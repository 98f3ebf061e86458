/** A number and its noun agree, one as well as many. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../../src", import.meta.url));
const folders = ["api", "cli", "files", "fix", "gpu", "limits", "report", "verify"];
const files = folders.flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name}`),
);

/** `${list.length} steps` reads "1 steps" some day: counted() is for that. What has no singular of its own in use may stay. */
const bare = /\$\{[^{}]*\.(?:length|size)\} (?!bytes\b|times\b)[a-z]+s\b/;
/** `counted(...)` before a verb of many. */
const verb = /counted\([^)]*\)\}[^`]*? (?:differ|are|were|have)\b/;

it.each(files)("%s counts by counted(), and lets the verb agree", (file) => {
  const lines = readFileSync(path.join(root, file), "utf8").split("\n");
  const slips = lines.filter((line) => (bare.test(line) && !/\} of \$/.test(line)) || verb.test(line));
  expect(slips).toEqual([]);
});

it("there are files to look at", () => {
  expect(files.length).toBeGreaterThan(100);
  expect(bare.test(["`$", "{steps.length} steps`"].join(""))).toBe(true);
  expect(verb.test(["`$", '{counted(n, "tensor")} differ`'].join(""))).toBe(true);
});
