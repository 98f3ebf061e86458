/** @file The parameter of prefetch.cu. */
import { i64, StructTable } from "../../ir/param-table.ts";

export const prefetchStruct = new StructTable("PrefetchParams", "Memory that is to come into L2.", {
  from: i64("Its address, a multiple of 128."),
  bytes: i64(),
});
