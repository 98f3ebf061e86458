#!/usr/bin/env node
// The repository that pre-commit installs its hooks from: the package as it is published, built, beside the hooks.
//
//   node scripts/hook-repository.mjs tc-lint-1.2.3.tgz FOLDER
//
// pre-commit clones a repository and has npm install what it finds there. A checkout of this repository would first need all of its
// development dependencies and a build, which newer versions of npm refuse to run; what lies in FOLDER needs neither. Whatever
// FOLDER held of an earlier version is replaced, but for its .git.
import { spawnSync } from "node:child_process";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Of the manifest, what npm installs by; scripts and development dependencies would be run and installed with the hook. */
const kept = [
  ...[
    "name",
    "version",
    "description",
    "license",
    "homepage",
    "repository",
    "bugs",
    "type",
    "engines",
    "bin",
  ],
  ...["exports", "dependencies", "peerDependencies", "peerDependenciesMeta"],
];

const [tarball, folder] = process.argv.slice(2);
if (tarball === undefined || folder === undefined) {
  console.error("usage: hook-repository.mjs TARBALL FOLDER");
  process.exit(2);
}
await mkdir(folder, { recursive: true });
for (const name of await readdir(folder))
  if (name !== ".git") await rm(join(folder, name), { recursive: true });
const unpacked = spawnSync("tar", ["-xzf", resolve(tarball), "-C", folder, "--strip-components=1"], {
  stdio: "inherit",
});
if (unpacked.status !== 0) process.exit(unpacked.status ?? 1);
// Kernels are for the commands that run on a GPU; a hook lints and fixes.
await rm(join(folder, "dist", "cuda"), { recursive: true, force: true });
const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
const own = Object.fromEntries(kept.filter((key) => key in manifest).map((key) => [key, manifest[key]]));
// Without a list of files npm packs all that git has, hooks and readme included.
await writeFile(join(folder, "package.json"), `${JSON.stringify(own, null, 2)}\n`);
const added = fileURLToPath(new URL("hook-repository", import.meta.url));
await cp(added, folder, { recursive: true });
console.log(`${folder}: the hooks of ${own.name} ${own.version}; commit it, and tag it v${own.version}`);
