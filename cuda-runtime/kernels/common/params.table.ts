/** @file Structs that parameters of several families have. */
import { f32, i32, i32s, StructTable, u32, u32s } from "../../ir/param-table.ts";
import { maxRank } from "../../ir/params.ts";

export const walkStruct = new StructTable(
  "Walk",
  "A walk over a tensor's elements, the axes outermost first; n / sizes[i] is (high(n * multipliers[i]) + n) >> shifts[i] for n < 2^31.",
  {
    count: i32(),
    rank: i32(),
    sizes: i32s(maxRank, { fill: 1 }),
    multipliers: u32s(maxRank, { fill: 1 }),
    shifts: i32s(maxRank, { fill: 0 }),
  },
);

export const divisorStruct = new StructTable(
  "Divisor",
  "q = (high(n * multiplier) + n) >> shift divides n < 2^31 by `size`.",
  {
    size: i32(),
    multiplier: u32(),
    shift: i32(),
  },
);

export const activationStruct = new StructTable(
  "Activation",
  "`kind` is an ActivationCode; what `a` and `b` are is its matter.",
  {
    kind: i32(),
    a: f32(),
    b: f32(),
  },
);
