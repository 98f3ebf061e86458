/** @file What every SARIF log of ours is made of: the log, its driver, places and text. */
import { printable } from "../ir/format.ts";
import type { RenderOptions } from "./render.ts";

/** GitHub rejects a run with more results, and shows the first 5,000. */
export const mostResults = 25_000;

export function logOf(run: object): object {
  return {
    $schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
    version: "2.1.0",
    runs: [run],
  };
}

export function driverOf(version: string, rules: readonly object[], { pages }: RenderOptions): object {
  return { name: "tc-lint", version, semanticVersion: version, informationUri: pages.home, rules };
}

/** Brackets make links in a message (SARIF 2.1.0, 3.11.6). */
export function quoted(text: string): string {
  return printable(text).replaceAll(/[\\[\]]/g, "\\$&");
}

/** A relative reference: what GitHub resolves against the checkout. Paths that lead out of it become file URIs where they are absolute. */
export function uriOf(path: string, { repositoryPath }: RenderOptions): string {
  return encoded(repositoryPath(path));
}

/**
 * With a region, GitHub's uploader hashes the whole file as text, about a second for ten megabytes; above this size
 * results name the file only.
 */
const maxBytesWithRegion = 64 * 1024 * 1024;

/** Of a model, as results have it. */
export function fileLocation(path: string, options: RenderOptions): object {
  const isLarge = (options.bytesOf(path) ?? 0) > maxBytesWithRegion;
  const region = { startLine: 1, startColumn: 1, endLine: 1, endColumn: 1 };
  return { artifactLocation: { uri: uriOf(path, options) }, ...(isLarge ? {} : { region }) };
}

export function encoded(path: string): string {
  // `C:/models/a.onnx`: a drive of Windows, which is no scheme.
  const [drive = ""] = /^[A-Za-z]:(?=\/)/.exec(path) ?? [];
  const parts = path.slice(drive.length).split("/").map(encodeURIComponent).join("/");
  if (drive !== "") return `file:///${drive}${parts}`;
  return path.startsWith("/") ? `file://${parts}` : parts;
}
