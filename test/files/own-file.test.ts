/** @file Files that runs keep for each other, written by threads of one process at the same moment. */
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { buildSync } from "esbuild";
import { afterEach, beforeEach, expect, test } from "vitest";
import { pruneOwnFiles } from "../../src/files/own-file.ts";
import { type Folder, temporaryFolder } from "../cli/models.ts";

const source = fileURLToPath(new URL("../../src/files/own-file.ts", import.meta.url));
let folder: Folder;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder[Symbol.dispose]());

/** What a thread threw that wrote the file many times over; undefined where nothing did. */
function written(script: string, file: string, bytes: number): Promise<unknown> {
  const code = `
    const { writeOwnFile } = require(${JSON.stringify(script)});
    for (let turn = 0; turn < 200; turn++) writeOwnFile(${JSON.stringify(file)}, Buffer.alloc(${bytes}, ${bytes % 256}));`;
  return new Promise((resolve) => {
    const thread = new Worker(code, { eval: true });
    thread.on("error", resolve);
    thread.on("exit", () => resolve(undefined));
  });
}

test("threads that write one file leave it whole, and nothing beside it", async () => {
  const script = path.join(folder.path, "own-file.cjs");
  buildSync({ entryPoints: [source], outfile: script, bundle: true, format: "cjs", platform: "node" });
  const kept = path.join(folder.path, "kept");
  folder.write("kept/first", new Uint8Array());
  const file = path.join(kept, "a.code");
  const sizes = [50_001, 60_002, 70_003, 80_004];
  expect(await Promise.all(sizes.map((size) => written(script, file, size)))).toEqual(
    sizes.map(() => undefined),
  );
  expect(readdirSync(kept).sort()).toEqual(["a.code", "first"]);
  const bytes = readFileSync(file);
  expect(sizes).toContain(bytes.length);
  expect(new Set(bytes)).toEqual(new Set([bytes.length % 256]));
});

test("those used last stay, what is being written too, and what is another's", () => {
  const at = (name: string) => path.join(folder.path, name);
  const put = (name: string, ageSeconds: number) => {
    writeFileSync(at(name), "12345678");
    const time = Date.now() / 1000 - ageSeconds;
    utimesSync(at(name), time, time);
  };
  put("old.code", 300);
  put("new.code", 100);
  put("newest.code", 10);
  put(".new.code-1-abc.tmp", 60);
  put(".new.code-2-abc.tmp", 7200);
  put("notes.txt", 90_000);
  pruneOwnFiles(folder.path, ".code", ({ files, bytes }) => files > 2 || bytes > 16);
  expect(readdirSync(folder.path).sort()).toEqual([
    ".new.code-1-abc.tmp",
    "new.code",
    "newest.code",
    "notes.txt",
  ]);
  pruneOwnFiles(folder.path, ".code", ({ bytes }) => bytes > 8);
  expect(existsSync(at("new.code"))).toBe(false);
  expect(statSync(at("newest.code")).size).toBe(8);
});
