/** @file The script of worker threads. */
import { loadProgram } from "./load-program.ts";
import type { Program } from "./program.ts";
import { programFile } from "./program-file.ts";

const { program, keepCompiled } = loadProgram<Program>(new URL(`./bin/${programFile}`, import.meta.url));
await program.serve(keepCompiled);
