#!/usr/bin/env node
/** @file The executable: answers `--version` at once, else loads the command line. */
import * as nodeModule from "node:module";
import { version } from "../version.ts";

const args = process.argv.slice(2);
if (args.length === 1 && args[0] === "--version") process.stdout.write(`${version}\n`);
else process.exitCode = await run(args);

async function run(rest: readonly string[]): Promise<number> {
  // Node 22.8 and later keep compiled code between runs.
  if ("enableCompileCache" in nodeModule && typeof nodeModule.enableCompileCache === "function") {
    nodeModule.enableCompileCache();
  }
  const { main } = await import("./main.ts");
  return main(rest, new URL("../worker.js", import.meta.url));
}
