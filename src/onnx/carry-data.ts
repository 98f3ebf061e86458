/** @file A model that is written to another folder takes along the data files it still refers to. */
import { mkdirSync, renameSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { FileSource } from "../wire/source.ts";
import { resolveExternal } from "./external.ts";
import type { ModelLock } from "./lock.ts";
import { type OpenModel, openModel } from "./open.ts";
import { isSameFile } from "./same-file.ts";
import { hashOfFile } from "./source-state.ts";
import { temporaryName } from "./temporary.ts";
import { weightFiles } from "./weights.ts";
import { type Access, writeNewFile } from "./write-file.ts";
import { atStep } from "./write-step.ts";

/**
 * Copies what the new model at `path` refers to and `source` has in its own folder; a file that is there already must
 * be the same. Adds the copies to `made`. Throws InputError.
 */
export async function carryData(
  source: OpenModel,
  path: string,
  lock: ModelLock,
  access: Access,
  made: string[],
): Promise<void> {
  for (const location of locationsOf(path)) {
    const original = resolveExternal(source.path, location);
    const target = join(lock.folder, location);
    if (original === undefined || isSamePlace(original.path, target)) continue;
    const content = { bytes: original.bytes, sha256: hashOfFile(original.path) };
    if (isSameFile(target, content)) continue;
    const temporary = join(lock.folder, temporaryName(lock.name));
    const file = FileSource.openExactly(original);
    try {
      const whole = { kind: "copy", source: file, offset: 0, length: file.size } as const;
      await writeNewFile(temporary, "data", [whole], access, lock.onStep);
      made.push(temporary);
    } finally {
      file.close();
    }
    atStep(target, "name-data", lock.onStep, () => {
      mkdirSync(dirname(target), { recursive: true });
      renameSync(temporary, target);
      made.push(target);
    });
  }
}

function locationsOf(path: string): string[] {
  using model = openModel(path);
  return weightFiles(model).map(({ location }) => location);
}

function isSamePlace(a: string, b: string): boolean {
  const [one, other] = [statSync(a), statSync(b, { throwIfNoEntry: false })];
  return one.dev === other?.dev && one.ino === other.ino;
}
