/** @file Writes what is generated from the rules: npm run docs. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { generateRuleFiles } from "./rule-pages.ts";

const root = process.cwd();
for (const [path, text] of generateRuleFiles(root)) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
