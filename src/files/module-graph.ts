/**
 * @file Which files a configuration or a plugin is made of: what each module imported as it was loaded, and the digest of a module with
 * all that leads from it. Two machines whose digests are one ran the same code.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { MessagePort } from "node:worker_threads";
import { threads } from "../limits/threads.ts";

/** A module and what it imports, as addresses. */
export type Import = readonly [from: string, to: string];

export class ModuleGraph {
  readonly #imports = new Map<string, Set<string>>();
  #port: MessagePort | undefined;

  /** Of hooks in a thread of their own: what they saw is asked for when it is needed. */
  listen(port: MessagePort): void {
    this.#port = port;
    port.unref();
  }

  note([from, to]: Import): void {
    const known = this.#imports.get(from) ?? new Set();
    this.#imports.set(from, known.add(to));
  }

  /** What a module required as it was loaded: all that is new since `before`. */
  noteScripts(file: string, before: ReadonlySet<string>): void {
    for (const script of loadedScripts())
      if (!before.has(script)) this.note([pathToFileURL(file).href, pathToFileURL(script).href]);
  }

  /** Of the file and all that it has imported so far, whatever folder they are in together. */
  digestOf(file: string): string {
    this.#receive();
    const folder = dirname(file);
    const parts = [...this.#reachedFrom(pathToFileURL(file).href)].map((url) => partOf(url, folder));
    return createHash("sha256").update(parts.sort().join("\n")).digest("hex");
  }

  #receive(): void {
    if (this.#port === undefined) return;
    for (
      let next = threads().receiveMessageOnPort(this.#port);
      next !== undefined;
      next = threads().receiveMessageOnPort(this.#port)
    )
      this.note(next.message as Import);
  }

  #reachedFrom(start: string): ReadonlySet<string> {
    const reached = new Set([start]);
    for (const url of reached) {
      for (const next of this.#imports.get(url) ?? []) reached.add(next);
    }
    return reached;
  }
}

/** Scripts of CommonJS that this thread has loaded, of which hooks need not have seen any. */
export function loadedScripts(): ReadonlySet<string> {
  return new Set(Object.keys(createRequire(import.meta.url).cache));
}

/** Where it is from the plugin, and what it says; an address that is no file is its own content. */
function partOf(url: string, folder: string): string {
  if (!url.startsWith("file:")) return url;
  const path = fileURLToPath(url);
  const content = createHash("sha256").update(readFileSync(path)).digest("hex");
  return `${relative(folder, path).split(sep).join("/")} ${content}`;
}
