/** Files that messages, pages of rules and comments name are there, and what a user is sent to comes with the package. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { minimatch } from "minimatch";
import { expect, it } from "vitest";

const root = path.join(import.meta.dirname, "../..");
const named =
  /(?<![\w/.:-])(?:docs|schemas|bench|scripts|fixtures|test)\/[\w./-]+\.(?:md|jsonl?|mjs|ts|onnx)\b/g;

const { files } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as { files: string[] };

function isPacked(file: string): boolean {
  return ["README.md", ...files].some((glob) => minimatch(file, glob) || file.startsWith(`${glob}/`));
}

function sourcesIn(folder: string): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => path.posix.join(folder, name.replaceAll("\\", "/")));
}

interface Mention {
  readonly by: string;
  readonly file: string;
  /** In a comment that no user reads; documentation of rules is read by `explain`. */
  readonly isComment: boolean;
}

const mentions = ["src", "rules", "cuda-runtime"].flatMap(sourcesIn).flatMap((by) =>
  readFileSync(path.join(root, by), "utf8")
    .split("\n")
    .flatMap((line): Mention[] => {
      const isComment = /^\s*(\/\/|\/?\*)/.test(line) && !by.startsWith("rules/");
      return [...line.matchAll(named)].map(([file]) => ({ by, file, isComment }));
    }),
);

it("files that code names are there", () => {
  expect(mentions.length).toBeGreaterThan(50);
  expect(mentions.filter(({ file }) => !existsSync(path.join(root, file)))).toEqual([]);
});

it("files that users are sent to come with the package", () => {
  const shown = mentions.filter(({ file, isComment }) => !isComment && /\.md$/.test(file));
  expect(shown.map(({ file }) => file)).toContain("docs/fixing.md");
  expect(shown.filter(({ file }) => !isPacked(file))).toEqual([]);
});
