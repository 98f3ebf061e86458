/** @file A bad (or merely odd) input, and what the command line must make of it. */
import { writeFileSync } from "node:fs";
import path from "node:path";

export type Expected =
  /** Exit code 2, with this code in the report. */
  | { readonly error: string; readonly says?: string }
  /** Exit code 2 before any model is opened, with this on stderr. */
  | { readonly stderr: string }
  /** Linted, with this notice and no other, or with these. */
  | { readonly notice: string | readonly string[] }
  /** Linted, with this many nodes that inference could not follow. */
  | { readonly skipped: number }
  /** Linted as if nothing were odd. */
  | "fine";

export interface BadInput {
  /** In reference/reliability.md, "Bad inputs to survive". */
  readonly number: number;
  readonly title: string;
  /** Writes the input into an empty folder and returns the path to lint. */
  readonly write: (folder: string) => string;
  readonly expect: Expected;
}

/** A case whose input is one file, model.onnx. */
export function file(
  number: number,
  title: string,
  expect: Expected,
  bytes: () => Uint8Array | string,
): BadInput {
  return { number, title, expect, write: (folder) => put(folder, "model.onnx", bytes()) };
}

export function put(folder: string, name: string, bytes: Uint8Array | string): string {
  const target = path.join(folder, name);
  writeFileSync(target, bytes);
  return target;
}
