/** @file The parameters of the kernels of movement/. */
import { i32, i32s, nested, pointer, StructTable } from "../../ir/param-table.ts";
import { maxRank } from "../../ir/params.ts";
import { walkStruct } from "../common/params.table.ts";

export const lookupStruct = new StructTable(
  "Lookup",
  "Coordinates read from an index tensor: `depth` of them, one after the other.",
  {
    depth: i32(),
    indexBytes: i32(),
    depthStride: i32(),
    sizes: i32s(maxRank, { fill: 0, note: "Of the axes looked into." }),
    strides: i32s(maxRank, { fill: 0, note: "Of the tensor looked into, along them." }),
  },
);

export const selectStruct = new StructTable(
  "SelectParams",
  "Elements picked by a table of positions an axis.",
  {
    from: pointer("const void"),
    to: pointer("void"),
    tables: pointer("const int"),
    fill: pointer("const uint8_t", "One element of fillBytes; null for zeros."),
    walk: nested(walkStruct),
    fromStrides: i32s(maxRank, { fill: 0 }),
    toStrides: i32s(maxRank, { fill: 0 }),
    tableAt: i32s(maxRank, { fill: -1, note: "-1 for an axis without a table." }),
    fillBytes: i32(),
  },
);

export const gatherStruct = new StructTable("GatherParams", "Elements picked by an index tensor.", {
  from: pointer("const void"),
  indices: pointer("const void"),
  to: pointer("void"),
  walk: nested(walkStruct),
  fromStrides: i32s(maxRank, { fill: 0 }),
  indexStrides: i32s(maxRank, { fill: 0 }),
  toStrides: i32s(maxRank, { fill: 0 }),
  lookup: nested(lookupStruct),
});

export const scatterStruct = new StructTable("ScatterParams", "Updates to where an index tensor says.", {
  updates: pointer("const void"),
  indices: pointer("const void"),
  to: pointer("void"),
  winners: pointer("int", "Null where no two updates can meet."),
  walk: nested(walkStruct),
  updateStrides: i32s(maxRank, { fill: 0 }),
  indexStrides: i32s(maxRank, { fill: 0 }),
  toStrides: i32s(maxRank, { fill: 0 }),
  winnerStrides: i32s(maxRank, { fill: 0 }),
  rowStrides: i32s(maxRank, { fill: 0, note: "The update's number." }),
  lookup: nested(lookupStruct),
  winnerLookupStrides: i32s(maxRank, { fill: 0 }),
});

export const scatterReduceStruct = new StructTable(
  "ScatterReduceParams",
  "Updates combined with what is there, a line of them a thread.",
  {
    updates: pointer("const void"),
    indices: pointer("const void"),
    to: pointer("void"),
    walk: nested(walkStruct, "Over the lines."),
    updateStrides: i32s(maxRank, { fill: 0 }),
    indexStrides: i32s(maxRank, { fill: 0 }),
    toStrides: i32s(maxRank, { fill: 0 }),
    lookup: nested(lookupStruct),
    steps: i32(),
    updateStep: i32(),
    indexStep: i32(),
    reduction: i32(),
  },
);

export const scatterRowsStruct = new StructTable(
  "ScatterRowsParams",
  "Updates combined with what is there, slices whose places are shared among blocks.",
  {
    updates: pointer("const void"),
    indices: pointer("const void"),
    to: pointer("void"),
    walk: nested(walkStruct, "Over a slice."),
    updateStrides: i32s(maxRank, { fill: 0 }),
    toStrides: i32s(maxRank, { fill: 0 }),
    lookup: nested(lookupStruct),
    rows: i32(),
    updateRow: i32(),
    indexRow: i32(),
    places: i32("What the indices can name: the product of lookup.sizes."),
    reduction: i32(),
  },
);
