/** @file The script of worker threads. */
import { loadProgram } from "./load-program.ts";
import type { Program } from "./program.ts";
import { programFile } from "./program-file.ts";

const file = new URL(`./bin/${programFile}`, import.meta.url);
const { program, keepCompiled } = loadProgram<Program>(file, { inThread: true });
await program.serve(keepCompiled);
