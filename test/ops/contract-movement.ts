/** @file Operators that move elements, and reductions. */
import {
  type Cases,
  cube,
  each,
  fed,
  float,
  given,
  image,
  ints,
  node,
  rows,
  scalar,
  stored,
} from "./contract-operands.ts";

export const movement: Cases = {
  Shape: [node([fed(cube)]), node([fed(cube)], { start: 1, end: -1 })],
  Size: [node([fed(cube)])],
  ConstantOfShape: [node([ints(3, 5)])],
  Reshape: [
    node([fed([4, 6]), ints(4, 2, 3)]),
    node([fed([4, 6]), ints(0, -1, 2)]),
    node([fed([4, 6]), ints(2, 2, 6)], { allowzero: 1 }),
    node([fed([4, 6]), ints(8, 3)]),
  ],
  Flatten: [node([fed(cube)]), node([fed(cube)], { axis: -1 }), node([fed(cube)], { axis: 0 }, 9)],
  Squeeze: [
    node([fed([1, 3, 1, 5]), ints(0, -2)]),
    node([fed([1, 3, 1, 5])], { axes: [2] }, 11),
    node([fed([1, 3, 5])]),
  ],
  Unsqueeze: [node([fed(rows), ints(-1, 0)]), node([fed(rows)], { axes: [1] }, 11)],
  Transpose: [node([fed(cube)]), node([fed(cube)], { perm: [1, 2, 0] })],
  Concat: [node([fed(rows), fed([3, 4])], { axis: -1 }), node([fed(rows), stored([2, 5])], { axis: 0 }, 11)],
  Split: [
    node([fed([3, 6])], { axis: -1 }, 17, 2),
    node([fed([3, 6]), ints(1, 2, 3)], { axis: 1 }, 13, 3),
    node([fed([3, 6])], { axis: 1, split: [4, 2] }, 11, 2),
    node([fed([3, 7])], { axis: 1, num_outputs: 2 }, 18, 2),
  ],
  Slice: [
    node([fed([4, 6]), ints(1), ints(-1), ints(-1)]),
    node([fed([4, 6]), ints(0, 2), ints(100, 5)]),
    node([fed([4, 6]), ints(-1), ints(-100), ints(1), ints(-1)]),
    node([fed([4, 6])], { starts: [1], ends: [3], axes: [1] }, 9),
    node([fed([4, 6]), ints(2), ints(2), ints(1)]),
  ],
  Gather: [
    node([fed([4, 6]), ints(5, -1, 0)], { axis: -1 }),
    node([fed([4, 6]), scalar(-2, "int64")], { axis: 1 }),
    node([stored([6, 5]), { ...fed([2, 2], "int64"), values: [0, 5, -1, -6] }]),
    node([stored([6, 5]), { ...fed([2, 2], "int32"), values: [0, 5, -1, -6] }]),
    node([stored([5, 6]), { ...fed([2], "int64"), values: [5, -1] }], { axis: 1 }),
    node([fed([4, 6]), { ...fed([2], "int64"), values: [3, -1] }]),
    node([stored([6, 5]), given([2, 2], [0, 5, -1, -6], "int64")]),
    node([stored([6, 5]), { ...fed([2, 2], "int64"), values: [0, 5, -1, -6] }], {}, 9),
  ],
  Pad: [
    node([fed(cube), ints(0, 1, 0, 0, 1, 0)]),
    node([fed(cube), ints(0, 0, 1, 0, 0, 1), scalar(2)]),
    node([fed(cube), ints(1, 1), undefined, ints(-1)], {}, 18),
    node([fed(cube), ints(0, 0, 1, 0, 0, 1)], { mode: "edge" }),
    node([fed(cube)], { pads: [0, 0, 1, 0, 0, 1], value: float(1) }, 10),
    node([fed(cube), ints(0, 0, -1, 0, 0, -1)]),
  ],
  Expand: [node([fed([3, 1]), ints(3, 5)]), node([fed([3, 1]), ints(2, 1, 5)]), node([fed([5]), ints(1)])],
  Tile: [node([fed(rows), ints(2, 1)]), node([fed([1, 5]), ints(3, 2)])],
  Trilu: [node([fed([3, 4, 4])]), node([fed([3, 4, 4]), scalar(-1, "int64")], { upper: 0 })],
  DepthToSpace: [
    node([fed([2, 8, 3, 3])], { blocksize: 2 }),
    node([fed([2, 12, 2, 2])], { blocksize: 2, mode: "CRD" }),
  ],
  SpaceToDepth: [node([fed([2, 3, 4, 4])], { blocksize: 2 })],
  Resize: [
    node([fed(image), undefined, given([4], [1, 1, 2, 2])], { mode: "linear" }),
    node([fed(image), undefined, undefined, ints(2, 4, 7, 3)], { mode: "nearest" }),
    node([fed(image), undefined, undefined, ints(7, 3)], { mode: "cubic", axes: [2, -1] }, 18),
    node([fed(image), given([8], [0, 0, 0, 0, 1, 1, 2, 2]), given([4], [1, 1, 2, 2])], {
      mode: "linear",
      coordinate_transformation_mode: "tf_crop_and_resize",
      extrapolation_value: float(3),
    }),
    node([fed(image), given([4], [1, 1, 2, 2])], {}, 10),
  ],
  Upsample: [node([fed(image), given([4], [1, 1, 2, 2])], { mode: "linear" }, 9)],
};

const axesAt = (type: string, old: number) => [
  node([fed(cube)], { axes: [1] }, old),
  node([fed(cube)], { axes: [-1], keepdims: 0 }, old),
  node([fed(cube)], {}, old),
  ...(type === "ReduceSum" ? [] : [node([fed(cube), ints(1)], {}, 18)]),
  node([fed(cube), ints(-1, 0)], { keepdims: 0 }, 20),
  node([fed(cube)], { noop_with_empty_axes: 1 }, 18),
];

export const reductions: Cases = {
  ...Object.fromEntries(
    ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"].map((name) => [
      `Reduce${name}`,
      axesAt(`Reduce${name}`, 11),
    ]),
  ),
  ...each(
    ["ArgMax", "ArgMin"],
    [node([fed(cube)], { axis: -1 }), node([fed(cube)], { axis: 1, keepdims: 0 }, 11)],
  ),
  TopK: [
    node([fed(cube), ints(2)], { axis: 1 }, 17, 2),
    node([fed(cube), ints(3)], { largest: 0 }, 17, 2),
    node([fed(cube)], { k: 2, axis: -1 }, 9, 2),
  ],
  ...each(
    ["Softmax", "LogSoftmax", "Hardmax"],
    [
      node([fed(cube)], { axis: 1 }),
      node([fed(cube)]),
      node([fed(cube)], { axis: 1 }, 11),
      node([fed(cube)], { axis: -1 }, 12),
    ],
  ),
  CumSum: [
    node([fed(cube), scalar(1, "int64")]),
    node([fed(cube), scalar(-1, "int64")], { exclusive: 1, reverse: 1 }),
  ],
  CumProd: [node([fed(cube), scalar(1, "int64")], {}, 26)],
};
