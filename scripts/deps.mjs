#!/usr/bin/env node
/**
 * @file Holds imports to .dependency-cruiser.cjs, and prints the longest chain of them from the command line to a file that
 * imports nothing: how deep one may have to read. Exit code 1 where a rule is broken.
 */
import { fileURLToPath } from "node:url";
import { cruise, format } from "dependency-cruiser";
import extractOptions from "dependency-cruiser/config-utl/extract-depcruise-options";
import extractTsConfig from "dependency-cruiser/config-utl/extract-ts-config";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const options = await extractOptions("./.dependency-cruiser.cjs");
const { output } = await cruise(["src", "rules", "cuda-runtime"], options, undefined, {
  tsConfig: extractTsConfig("./tsconfig.json"),
});
const report = await format(output, { outputType: "err" });
process.stdout.write(report.output);

const imports = new Map(output.modules.map(({ source, dependencies }) => [source, importsOf(dependencies)]));
const chainsFrom = new Map();
const chains = [...imports.keys()]
  .filter((file) => file.startsWith("src/cli/"))
  .map((file) => longestFrom(file));
const longest = chains.reduce((best, chain) => (chain.length > best.length ? chain : best), []);
console.log(`longest chain of imports, ${longest.length} files:\n  ${longest.join(" → ")}`);
process.exitCode = report.exitCode > 0 ? 1 : 0;

/** Files of ours that are needed at run time: no cycles there. */
function importsOf(dependencies) {
  return dependencies
    .filter(({ dependencyTypes }) => !dependencyTypes.includes("type-only"))
    .map(({ resolved }) => resolved)
    .filter((file) => /^(src|rules|cuda-runtime)\//.test(file));
}

function longestFrom(file) {
  const known = chainsFrom.get(file);
  if (known !== undefined) return known;
  // Where a rule is broken there may be cycles.
  chainsFrom.set(file, [file]);
  const next = (imports.get(file) ?? []).map(longestFrom);
  const chain = [file, ...next.reduce((best, each) => (each.length > best.length ? each : best), [])];
  chainsFrom.set(file, chain);
  return chain;
}
