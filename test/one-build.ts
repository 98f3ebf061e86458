/** @file Before and after a whole test run: the folder of the command line that its files share. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { checkShared, keptCodeVariable, sharedFolderVariable } from "./cli-process.ts";

/** The folder stays empty until a test file asks for the command line. */
export default function setup(): () => void {
  const out = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "out");
  mkdirSync(out, { recursive: true });
  const folder = mkdtempSync(path.join(out, "cli-"));
  process.env[sharedFolderVariable] = folder;
  process.env[keptCodeVariable] ??= path.join(folder, "code");
  return () => {
    delete process.env[sharedFolderVariable];
    try {
      checkShared(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
}
