/** @file The parameters of the ladders' kernels. */
import { f32, i32, pointer, StructTable } from "../../ir/param-table.ts";

export const ladderConvStruct = new StructTable(
  "LadderConvParams",
  "y[n, k] = the 3x3 windows of x[n] times w[k], padded by one pixel; halves, in the layout of the kernel.",
  {
    x: pointer("const void"),
    w: pointer("const void"),
    y: pointer("void"),
    batch: i32(),
    channels: i32(),
    filters: i32(),
    height: i32(),
    width: i32(),
  },
);

export const ladderResampleStruct = new StructTable(
  "LadderResampleParams",
  "y[row] = between the two rows of x whose times lie around targets[row]; rows of `features` BF16.",
  {
    x: pointer("const void"),
    y: pointer("void"),
    times: pointer("const void", "[batch, source] float32, ascending"),
    targets: pointer("const void", "[rows] float32"),
    rows: i32("Of all batches."),
    source: i32(),
    target: i32("Rows of a batch."),
    features: i32(),
  },
);

export const ladderAttentionStruct = new StructTable(
  "LadderAttentionParams",
  "o = softmax(scale q kᵀ) v; halves, [heads, length, 64] each, heads of all batches.",
  {
    q: pointer("const void"),
    k: pointer("const void"),
    v: pointer("const void"),
    o: pointer("void"),
    scores: pointer("void", "[heads, length, length], where they are written"),
    heads: i32(),
    length: i32(),
    scale: f32(),
  },
);
