/** @file Small models, written into a temporary folder, and their comparison in a child process. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { VerifyReport } from "../../src/verify/index.ts";
import { compareModels, type VerifyOptions, type VerifyOutcome } from "../../src/verify/index.ts";
import { type Bundle, bundle } from "../bundle.ts";
import { modelBytes, type types } from "../onnx/build.ts";

export class Models implements Disposable {
  readonly folder = mkdtempSync(path.join(tmpdir(), "tc-lint-verify-"));
  readonly #child: Bundle;

  constructor(child: Bundle) {
    this.#child = child;
  }

  static async create(): Promise<Models> {
    return new Models(await bundle("src/verify/child.ts"));
  }

  /** Writes a model; returns its path. */
  write(name: string, graph: types.IGraphProto, rest: types.IModelProto = {}): string {
    const file = path.join(this.folder, `${name}.onnx`);
    writeFileSync(file, modelBytes(graph, rest));
    return file;
  }

  compare(a: string, b: string, options: Partial<VerifyOptions> = {}): Promise<VerifyOutcome> {
    return compareModels(a, b, { childUrl: pathToFileURL(this.#child.path), threads: 1, ...options });
  }

  async report(a: string, b: string, options: Partial<VerifyOptions> = {}): Promise<VerifyReport> {
    return (await this.compare(a, b, options)).report;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
    this.#child[Symbol.dispose]();
  }
}

/** Numbers without a pattern, the same each time. */
export function pseudo(count: number, seed = 1): number[] {
  return Array.from({ length: count }, (_, i) => Math.sin(12.9898 * (i + 1) + 78.233 * seed));
}
