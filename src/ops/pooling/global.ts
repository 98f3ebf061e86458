/** @file Pools over all spatial axes at once. */
import { product } from "../../ir/dim.ts";
import { defineOp, type OpDefinition } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { rowTraffic } from "../traffic.ts";
import { poolAxes, poolLane } from "./axes.ts";

/** x [N, C, …spatial] to [N, C, 1, …]: a row is one channel of one sample. */
export const globalPools: readonly OpDefinition[] = [
  "GlobalAveragePool",
  "GlobalMaxPool",
  "GlobalLpPool",
].map((type) =>
  defineOp({
    domain: "",
    type,
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
    work(context) {
      const { shape } = tensorAt(context, 0);
      return shape && rowTraffic(context, "reduction", product(shape.slice(0, 2)), product(shape.slice(2)));
    },
  }),
);
