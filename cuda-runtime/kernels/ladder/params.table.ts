/** @file The parameters of the ladders' kernels. */
import { i32, pointer, StructTable } from "../../ir/param-table.ts";

export const ladderConvStruct = new StructTable(
  "LadderConvParams",
  "y[n, k] = the 3x3 windows of x[n] times w[k], padded by one pixel; halves, channels first.",
  {
    x: pointer("const void"),
    w: pointer("const void"),
    y: pointer("void"),
    channels: i32(),
    filters: i32(),
    height: i32(),
    width: i32(),
  },
);
