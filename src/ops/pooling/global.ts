/** @file Pools over all spatial axes at once. */
import { product } from "../../ir/dim.ts";
import { defineOp, type OpDefinition } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { rowTraffic } from "../traffic.ts";
import { half, type Traits } from "../traits.ts";
import { poolAxes, poolLane } from "./axes.ts";

const traits: Readonly<Record<string, Traits>> = {
  GlobalAveragePool: {
    elements: "computed",
    half: half(1, 22),
    layout: "channels",
    turnsToNhwc: true,
    sameSince: 7,
    scale: "first",
  },
  GlobalMaxPool: {
    elements: "chosen",
    half: half(1, 22),
    layout: "channels",
    turnsToNhwc: true,
    sameSince: 7,
    scale: "first",
  },
  GlobalLpPool: {
    elements: "computed",
    half: half(1, 22, { risk: { kind: "sum", of: "squares", why: "a norm sums squares" } }),
    layout: "fixed",
    sameSince: 7,
  },
};

/** x [N, C, …spatial] to [N, C, 1, …]: a row is one channel of one sample. */
export const globalPools: readonly OpDefinition[] = Object.entries(traits).map(([type, each]) =>
  defineOp({
    domain: "",
    type,
    traits: each,
    infer(context) {
      const { dtype, shape } = tensorAt(context, 0);
      return [
        tensor(
          dtype,
          shape?.map((size, axis) => (axis < 2 ? size : 1)),
        ),
      ];
    },
    axes: poolAxes,
    lanes: poolLane,
    pass: "mean",
    work(context) {
      const { shape } = tensorAt(context, 0);
      return shape && rowTraffic(context, "reduction", product(shape.slice(0, 2)), product(shape.slice(2)));
    },
  }),
);
