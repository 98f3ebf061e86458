/**
 * @file An operator's first text: npm run new:op -- FAMILY Type [--domain com.microsoft]
 *
 * Writes src/ops/FAMILY/type.ts and lists it in the family's index. It compiles only once inference is written.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

const { positionals, values: options } = parseArgs({
  allowPositionals: true,
  options: { domain: { type: "string", default: "" } },
});
const [family, type] = positionals;
const index = `src/ops/${family}/index.ts`;
if (family === undefined || type === undefined || !/^[A-Z]\w*$/.test(type) || !existsSync(index)) {
  throw new Error(
    "usage: npm run new:op -- family Type [--domain com.microsoft]; a family is a folder of src/ops",
  );
}
const kebab = type.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "-").toLowerCase();
const name = kebab.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
const file = `src/ops/${family}/${kebab}.ts`;
if (existsSync(file)) throw new Error(`${file} is there already`);

writeFileSync(
  file,
  `/** @file ${type}: TODO, inputs and outputs with their shapes. */
import { defineOp } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { computes, noHalf } from "../traits.ts";

export const ${name} = defineOp({
  domain: "${options.domain}",
  type: "${type}",
  // TODO: since which opsets it takes half, what it does with elements, layouts, scales (traits.ts has the questions).
  traits: computes(noHalf()),
  // TODO: dtype and shape of every output; ShapeError on a contradiction, undefined for what cannot be known.
  infer: (context) => TODO,
});
`,
);
const before = readFileSync(index, "utf8");
const listed = before
  .replace(/\n(?=import )/, `\nimport { ${name} } from "./${kebab}.ts";\n`)
  .replace(/(: readonly OpDefinition\[\] = \[\n)/, `$1  ${name},\n`);
writeFileSync(index, listed);
console.log(`${file}, listed in ${index}. Then, by hand:
  1. traits and infer; work where it multiplies or moves memory in a way of its own; axes and lanes for padding
  2. cases for axes and lanes in test/ops/contract-cases.ts
  3. for the runtime: a lowering in cuda-runtime/lower, listed in its family's table; what it takes, in src/ops/signatures.ts
and: npx biome check --write src/ops; npm run typecheck; npx vitest run test/ops test/facts`);
