/** @file Data beside a checkout, ../shared, that some tests run on: they skip aloud without it. Real exports are in zoo.ts. */
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
