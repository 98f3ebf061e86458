#!/usr/bin/env node
/** @file The executable: answers `--version` at once, else loads the command line. */
import * as nodeModule from "node:module";
import { setFlagsFromString } from "node:v8";
import { version } from "../version.ts";
import { commandIsOver, watchTheEnd } from "./last-words.ts";
import { guardStdout, StdoutError, writeStdout } from "./stdout.ts";

/**
 * V8 11 optimises a function that ran through 66 KiB of its bytecode. Most functions of a lint run for milliseconds: code optimised
 * for them, and again where their types widen, takes as long as the lint itself, in every worker thread. With this, what is hot for
 * longer is optimised a few milliseconds later. Later versions compile in steps of their own, and know no such flag.
 */
const laterOptimizing = { v8: "11.3.", flag: "--interrupt-budget=1000000" };

guardStdout();
watchTheEnd();
const args = process.argv.slice(2);
try {
  if (args.length === 1 && args[0] === "--version") await writeStdout(`${version}\n`);
  else process.exitCode = await run(args);
} catch (error) {
  if (!(error instanceof StdoutError)) throw error;
  process.stderr.write(`tc-lint: ${error.message}\n`);
  process.exitCode = 2;
}
commandIsOver();

async function run(rest: readonly string[]): Promise<number> {
  if (process.versions.v8.startsWith(laterOptimizing.v8)) setFlagsFromString(laterOptimizing.flag);
  // Node 22.8 and later keep compiled code between runs.
  if ("enableCompileCache" in nodeModule && typeof nodeModule.enableCompileCache === "function") {
    nodeModule.enableCompileCache();
  }
  const { main } = await import("./main.ts");
  return main(rest, new URL("../worker.js", import.meta.url));
}
