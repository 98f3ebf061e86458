/** @file ONNX's own operator tests, unpacked for the life of a test file. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { sharedPath } from "../shared.ts";

export interface NodeTests extends Disposable {
  /** Paths of the models. */
  readonly models: readonly string[];
}

/** Path of the archive, or undefined where it is absent, which is said. */
export const nodeTestArchive = sharedPath("onnx-node-tests", "node-tests.tar.xz");

export function unpackNodeTests(archive: string): NodeTests {
  const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-node-tests-"));
  // The inputs and outputs of the tests stay packed.
  execFileSync("tar", ["-xJf", archive, "-C", folder, "--wildcards", "*.onnx"]);
  return {
    models: readdirSync(folder).map((name) => path.join(folder, name, "model.onnx")),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
