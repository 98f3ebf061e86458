/** @file Profiles on the disk for a test file, and the paths of models and profiles that are stored. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

const fixtures = fileURLToPath(new URL("../../fixtures/", import.meta.url));

export function fixtureModel(name: string): string {
  return join(fixtures, "zoo", `${name}.onnx`);
}

export function fixtureProfile(name: string): string {
  return join(fixtures, "profiles", name);
}

/** Writes what it is given, as JSON unless it is text, into a folder that is gone when the tests are. */
export function profileFolder(): (name: string, content: unknown) => string {
  const folder = mkdtempSync(join(tmpdir(), "tc-lint-profile-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  return (name, content) => {
    const path = join(folder, name);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  };
}
