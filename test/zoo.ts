/** @file Real exports: those of ../shared/zoo, or where that is absent the small ones among them in fixtures/zoo, which is said. */
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { it } from "vitest";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const whole = path.resolve(root, "..", "shared", "zoo");

export const isWholeZoo = existsSync(whole);
/** Models, manifest.json, and materialize.mjs, which gives them weights. */
export const zoo = isWholeZoo ? whole : path.join(root, "fixtures", "zoo");
export const zooNames: readonly string[] = readdirSync(zoo)
  .flatMap((file) => /^(.*)\.onnx$/.exec(file)?.[1] ?? [])
  .sort();

if (!isWholeZoo) console.warn(`../shared/zoo is not here: ${zooNames.length} models of fixtures/zoo instead`);

export function zooModel(name: string): string {
  return path.join(zoo, `${name}.onnx`);
}

function isInZoo(name: string): boolean {
  if (zooNames.includes(name)) return true;
  console.warn(`skipped: ${name} is not in fixtures/zoo`);
  return false;
}

type Run<Cells extends readonly unknown[]> = (...cells: Cells) => void | Promise<void>;
type Each<Cells extends readonly unknown[]> = (title: string, run: Run<Cells>, timeout?: number) => void;

/** As `it.each` over models, or rows of a model and something else; where a model is not here, its test is skipped aloud. */
export function eachModel(names: readonly string[]): Each<[name: string]>;
export function eachModel<T>(rows: readonly (readonly [name: string, T])[]): Each<[name: string, T]>;
export function eachModel(rows: readonly (string | readonly [string, unknown])[]): Each<[string, unknown]> {
  return (title, run, timeout) => {
    for (const row of rows) {
      const [name, rest] = typeof row === "string" ? [row] : row;
      const test = isInZoo(name) ? it : it.skip;
      test.each([[name, rest]] as const)(title, (...cells) => run(...cells), timeout);
    }
  };
}
