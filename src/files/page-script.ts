/** @file The script of HTML reports, which the build lays beside the other bundles. */
import { readFileSync } from "node:fs";

export function pageScript(): string {
  return readFileSync(new URL("../report-page.js", import.meta.url), "utf8");
}
