/** @file What a folder holds. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** Contents by path below the folder, one character a byte. */
export type Tree = ReadonlyMap<string, string>;

export function treeOf(folder: string): Tree {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return new Map(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const file = path.join(entry.parentPath, entry.name);
        return [path.relative(folder, file), readFileSync(file, "latin1")] as const;
      }),
  );
}
