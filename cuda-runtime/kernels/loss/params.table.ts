/** @file The parameter of loss.cu. */
import { flag, i32, i32s, pointer, StructTable } from "../../ir/param-table.ts";
import { maxRank } from "../../ir/params.ts";

export const lossStruct = new StructTable(
  "LossParams",
  "A loss over classes at each position. Strides are in elements.",
  {
    x: pointer("const void"),
    labels: pointer("const void"),
    weights: pointer("const void", "One a class; null for ones."),
    losses: pointer("void"),
    counts: pointer("float", "The weight that each loss counts with; null where nobody asks."),
    logarithms: pointer("void", "The logarithm of the softmax; null where nobody asks."),
    rank: i32(),
    sizes: i32s(maxRank, { fill: 1, note: "Positions: batch and everything behind the classes." }),
    stridesX: i32s(maxRank, { fill: 0 }),
    stridesLabels: i32s(maxRank, { fill: 0 }),
    stridesLosses: i32s(maxRank, { fill: 0 }),
    stridesLogarithms: i32s(maxRank, { fill: 0 }),
    positions: i32(),
    classes: i32(),
    classStrideX: i32(),
    classStrideLogarithms: i32(),
    strideWeights: i32(),
    isSoftmax: flag(),
    hasIgnored: flag(),
    ignored: i32(),
    xType: i32(),
    labelType: i32(),
    weightType: i32(),
    lossType: i32(),
    logarithmType: i32(),
  },
);
