/** @file What the engine names of node:util: values that are no JSON, which nothing of the page is. */
import { missing } from "./missing.ts";

export const inspect = missing("util.inspect");
