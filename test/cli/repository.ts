/** @file A Git repository in a test's folder, with Git LFS as its files are: no git-lfs is needed. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/** Nobody's own settings. */
const settings = [
  "user.name=test",
  "user.email=test@example.com",
  "init.defaultBranch=main",
  "commit.gpgSign=false",
];

export function git(folder: string, ...args: readonly string[]): string {
  const { PATH = "" } = process.env;
  const { status, stdout, stderr } = spawnSync(
    "git",
    [...settings.flatMap((each) => ["-c", each]), ...args],
    {
      cwd: folder,
      env: { PATH, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
      encoding: "utf8",
    },
  );
  if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
  return stdout.trim();
}

/** All that is there, as a commit. */
export function commitAll(folder: string, message = "a change"): void {
  git(folder, "add", "-A");
  git(folder, "commit", "-q", "--allow-empty", "-m", message);
}

/** What Git stores in place of a content, which `fetched` puts where git-lfs would. */
export function lfsPointerOf(folder: string, content: Uint8Array, fetched: boolean): string {
  const sha256 = createHash("sha256").update(content).digest("hex");
  const place = path.join(folder, ".git/lfs/objects", sha256.slice(0, 2), sha256.slice(2, 4));
  if (fetched) {
    mkdirSync(place, { recursive: true });
    writeFileSync(path.join(place, sha256), content);
  }
  return `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256}\nsize ${content.length}\n`;
}
