/** @file The package as it is published: built, with what goes into it, packed by npm. */
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

const parts = [
  ...["package.json", "action.yml", "README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md"],
  ...["schemas", "docs", "bench/results"],
];

/** Stages the package in a folder that is not there yet; the tarball's path. */
export function packInto(staged: string): string {
  for (const name of parts) cpSync(path.join(root, name), path.join(staged, name), { recursive: true });
  command(process.execPath, [path.join(root, "scripts", "build.mjs"), `--outdir=${staged}/dist`], root);
  command("npm", ["pack", "--ignore-scripts", "--silent"], staged);
  const [tarball = ""] = readdirSync(staged).filter((name) => name.endsWith(".tgz"));
  return path.join(staged, tarball);
}

/** stdout. Throws where the program fails, with all that it said. */
export function command(program: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${error?.message}\n${stdout}${stderr}`);
  return stdout;
}
