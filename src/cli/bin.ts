#!/usr/bin/env node
/** @file The executable: answers `--version` at once, else loads the program. */
import { version } from "../version.ts";
import { loadProgram } from "./load-program.ts";
import type { Program } from "./program.ts";
import { programFile } from "./program-file.ts";
import { guardStdout, StdoutError, writeStdout } from "./stdout.ts";

const args = process.argv.slice(2);
if (args.length === 1 && args[0] === "--version") await sayVersion();
else {
  const { program, keepCompiled } = loadProgram<Program>(new URL(`./${programFile}`, import.meta.url));
  await program.run(args, new URL("../worker.js", import.meta.url), keepCompiled);
}

async function sayVersion(): Promise<void> {
  guardStdout();
  try {
    await writeStdout(`${version}\n`);
  } catch (error) {
    if (!(error instanceof StdoutError)) throw error;
    process.stderr.write(`tc-lint: ${error.message}\n`);
    process.exitCode = 2;
  }
}
