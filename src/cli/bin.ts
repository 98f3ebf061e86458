#!/usr/bin/env node
/** @file The executable: answers `--version` at once, else loads the program. */
import { version } from "../version.ts";
import { loadProgram } from "./load-program.ts";
import type { Program } from "./program.ts";
import { programFile } from "./program-file.ts";
import { withGuardedStdout, writeStdout } from "./stdout.ts";

void start(process.argv.slice(2));

async function start(args: readonly string[]): Promise<void> {
  if (args.length === 1 && args[0] === "--version") {
    await withGuardedStdout(() => writeStdout(`${version}\n`));
    return;
  }
  const { program, keepCompiled } = loadProgram<Program>(new URL(`./${programFile}`, import.meta.url));
  await program.run(args, new URL("../worker.js", import.meta.url), keepCompiled);
}
