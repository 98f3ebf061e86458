#!/usr/bin/env node
// The bill of materials of a release (CycloneDX) on stdout: what is bundled, and what is installed with the package.
//
//   node scripts/sbom.mjs [dist/bundled.json]
//
// npm knows all packages of the checkout, and which are for development; the build knows which of those it bundled.
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const [bundledFile = join(root, "dist", "bundled.json")] = process.argv.slice(2);
const bundled = JSON.parse(await readFile(bundledFile, "utf8"));
const { name } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));

const all = billOf([]);
const installed = billOf(["--omit=dev", "--omit=peer"]);
const own = all.metadata.component;
const kept = new Set([...bundled, ...installed.components.map(reference), reference(own)]);
const components = all.components.filter((component) => kept.has(reference(component)));
const missing = bundled.filter((each) => !components.some((component) => reference(component) === each));
if (missing.length > 0) throw new Error(`npm does not know what is bundled: ${missing.join(", ")}`);
const bill = {
  ...all,
  // npm takes the folder's name.
  metadata: { ...all.metadata, component: { ...own, name } },
  components,
  dependencies: all.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => kept.has(each)) })),
};
console.log(JSON.stringify(bill, null, 2));

function billOf(flags) {
  const args = ["sbom", "--sbom-format", "cyclonedx", "--sbom-type", "library", ...flags];
  const { status, stdout, stderr } = spawnSync("npm", args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (status !== 0) throw new Error(`npm ${args.join(" ")}:\n${stderr}`);
  return JSON.parse(stdout);
}

function reference(component) {
  return component["bom-ref"];
}
