/**
 * @file Counts the files outside src/ops and the recognisers of patterns that name operators in string literals: knowledge
 * about an operator that lives somewhere else. Part of `npm run test:all`; fails above the committed number.
 *
 *   npm run operator-names [-- --list]
 *
 * Keys of tables do not count: a lowering is registered under the name of what it lowers.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import ts from "typescript";
import { allOps } from "../src/ops/registry.ts";

/** Lower it whenever it is possible; never raise it. */
const most = 28;

const recognisers =
  /^(src\/ops\/|src\/facts\/attention|src\/(lint|workload)\/written-|cuda-runtime\/patterns\/)/;
const operators = new Set([...allOps()].map(({ type }) => type));

/** Whether a text is nothing but names of operators, one or many, with or without a domain. */
function isNames(text: string): boolean {
  const words = text.trim().split(/\s+/);
  return words.every((word) => operators.has(word.replace(/^.*::/, "")));
}

function namesIn(file: string): Set<string> {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) && !isKey(node) && isNames(node.text)) {
      for (const name of node.text.trim().split(/\s+/)) names.add(name);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}

function isKey(node: ts.StringLiteralLike): boolean {
  return ts.isPropertyAssignment(node.parent) && node.parent.name === node;
}

const { values: options } = parseArgs({ options: { list: { type: "boolean", default: false } } });
const files = ["src", "rules", "cuda-runtime"]
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => path.join(folder, file)),
  )
  .filter((file) => file.endsWith(".ts"))
  .filter((file) => !recognisers.test(file));
const found = files
  .map((file) => ({ file, names: namesIn(file) }))
  .filter(({ names }) => names.size > 0)
  .sort((a, b) => b.names.size - a.names.size);
if (options.list || found.length > most) {
  for (const { file, names } of found) console.log(`${file}: ${[...names].join(" ")}`);
}
console.log(`${found.length} files name operators outside src/ops and the recognisers; at most ${most} may`);
if (found.length > most) process.exitCode = 1;
