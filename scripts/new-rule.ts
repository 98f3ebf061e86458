/**
 * @file A rule's first text: npm run new:rule -- NAME [--hundred 1]
 *
 * Writes rules/NAME.ts with the next free code of its hundred (1 sizes, 2 precision, 3 layout, 4 fusion, 9 what cannot be
 * told), and names what else is to be written by hand.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

const { positionals, values: options } = parseArgs({
  allowPositionals: true,
  options: { hundred: { type: "string", default: "1" } },
});
const [name] = positionals;
if (name === undefined || !/^[a-z]+(-[a-z0-9]+)*$/.test(name) || !/^[1-9]$/.test(options.hundred)) {
  throw new Error("usage: npm run new:rule -- name-of-the-flaw [--hundred 1]");
}
const file = `rules/${name}.ts`;
if (existsSync(file)) throw new Error(`${file} is there already`);

const codes = readdirSync("rules").flatMap((each) => {
  const found = /code: "TC(\d+)"/.exec(readFileSync(`rules/${each}`, "utf8"));
  return found?.[1] === undefined ? [] : [Number(found[1])];
});
const start = 100 * Number(options.hundred);
const code = Math.max(start, ...codes.filter((each) => each > start && each < start + 100)) + 1;

writeFileSync(
  file,
  `import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds TODO.
 *
 * ## Why is this bad?
 * TODO, with a measurement: what, on which GPU, in microseconds.
 *
 * ## Example
 * \`\`\`onnx
 * TODO
 * \`\`\`
 *
 * ## Use instead
 * TODO
 *
 * ## Fix safety
 * TODO
 *
 * ## References
 * - [TODO](TODO)
 */
export default defineRule({
  code: "TC${code}",
  name: "${name}",
  severity: "info",
  fix: "none",
  messages: {
    found: "TODO {what}",
  },
  *check(context) {
    for (const product of context.products) {
      // What is flagged, its data and its saving. Without this the rule finds nothing, and its test says so.
    }
  },
});
`,
);
console.log(`${file}: TC${code}. Then, by hand:
  1. the rule and its documentation, in that file
  2. a model that it flags and one that it leaves alone, as TC${code} in fixtures/rules.ts
and: npm run docs; npm run schemas; npx vitest run test/rules -u`);
