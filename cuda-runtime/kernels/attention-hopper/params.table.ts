/** @file The parameter of attention-hopper.cu. */
import { nested, StructTable, tensorMap } from "../../ir/param-table.ts";
import { attentionStruct } from "../attention/params.table.ts";

export const attentionHopperStruct = new StructTable(
  "AttentionHopperParams",
  "Attention whose queries, keys and values TMA fetches.",
  {
    q: tensorMap("Axes dim, queries, heads, batch; boxes of 64 along dim by a tile's queries. Zeros beyond."),
    k: tensorMap(
      "Axes dim, keys, heads, batch; boxes of 64 by a step's keys, of a pair of blocks half of them.",
    ),
    v: tensorMap(),
    p: nested(attentionStruct),
  },
);
