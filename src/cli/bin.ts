#!/usr/bin/env node
/** @file The executable: answers `--version` at once, else loads the command line. */
import * as nodeModule from "node:module";
import { version } from "../version.ts";
import { guardStdout, StdoutError, writeStdout } from "./stdout.ts";

guardStdout();
const args = process.argv.slice(2);
try {
  if (args.length === 1 && args[0] === "--version") await writeStdout(`${version}\n`);
  else process.exitCode = await run(args);
} catch (error) {
  if (!(error instanceof StdoutError)) throw error;
  process.stderr.write(`tc-lint: ${error.message}\n`);
  process.exitCode = 2;
}

async function run(rest: readonly string[]): Promise<number> {
  // Node 22.8 and later keep compiled code between runs.
  if ("enableCompileCache" in nodeModule && typeof nodeModule.enableCompileCache === "function") {
    nodeModule.enableCompileCache();
  }
  const { main } = await import("./main.ts");
  return main(rest, new URL("../worker.js", import.meta.url));
}
