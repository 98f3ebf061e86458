/** @file The data beside a checkout, ../shared, that larger tests run on. They skip aloud without it. */
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..", "shared");

/** The path of something in ../shared, or undefined where it is absent, which is said. */
export function sharedPath(...parts: readonly string[]): string | undefined {
  const full = path.join(root, ...parts);
  if (existsSync(full)) return full;
  console.warn(`skipped: ../shared/${parts.join("/")} is not here`);
  return undefined;
}
