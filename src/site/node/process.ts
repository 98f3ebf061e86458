/** @file What the engine names of node:process: there is no folder that the page is in. */
import { missing } from "./missing.ts";

export const cwd = missing("process.cwd");
