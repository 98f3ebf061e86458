/** @file The browser that pages are tried in: Debian's, or what TC_LINT_CHROMIUM names. Tests skip aloud without one. */
import { accessSync, constants } from "node:fs";
import path from "node:path";
import { type Browser, chromium } from "playwright-core";

const { TC_LINT_CHROMIUM: given, PATH = "" } = process.env;
const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** Undefined where there is none, which is said. */
export function findChromium(): string | undefined {
  if (given !== undefined && given !== "") return given;
  const folders = PATH.split(path.delimiter);
  const found = names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(isExecutable);
  if (found === undefined)
    console.warn(
      `skipped: no ${names.join(", ")} on PATH; TC_LINT_CHROMIUM names a browser that lies elsewhere`,
    );
  return found;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function launch(executablePath: string): Promise<Browser> {
  // Chromium's own sandbox refuses to run as root, which containers are.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath, args });
}
