/** @file See ir/names.ts, where verification finds the same. */
export { FreshNames } from "../ir/names.ts";
