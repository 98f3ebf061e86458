/** @file A TypeScript file as one that Node runs: for tests that need a process of their own. */
import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ownRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

export interface Bundle extends Disposable {
  readonly path: string;
}

/** `source` is relative to the repository, at `root`. Packages are found from where the bundle lies, below node_modules. */
export async function bundle(source: string, root = ownRoot): Promise<Bundle> {
  const folder = mkdtempSync(path.join(root, "node_modules", ".tc-lint-test-"));
  const outfile = path.join(folder, "bundle.mjs");
  await build({
    entryPoints: [path.join(root, source)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    sourcemap: "inline",
    logLevel: "warning",
  });
  return { path: outfile, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}
