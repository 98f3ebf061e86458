/** @file Operators that work element by element. */
import {
  type Cases,
  each,
  fed,
  float,
  given,
  node,
  rows,
  scalar,
  stored,
  zero,
} from "./contract-operands.ts";

export const unary: Cases = {
  ...each(
    ["Cos", "Exp", "Log", "Sin", "Sqrt", "Tanh", "Abs", "Ceil", "Floor", "Neg"],
    [node([fed(rows)], {}, 7), node([fed(rows)], {}, 13), node([fed(rows, "float64")])],
  ),
  ...each(
    [
      "Acos",
      "Asin",
      "Atan",
      "Tan",
      "Acosh",
      "Asinh",
      "Atanh",
      "Cosh",
      "Sinh",
      "Erf",
      "Sign",
      "Round",
      "Reciprocal",
    ],
    [node([fed(rows)], {}, 13)],
  ),
  ...each(
    ["Celu", "Elu", "Selu", "HardSigmoid", "LeakyRelu", "ThresholdedRelu"],
    [node([fed(rows)]), node([fed(rows)], { alpha: float(2) }), node([fed(rows)], { alpha: float(-0.5) })],
  ),
  ...each(["HardSwish", "Relu", "Sigmoid", "Softplus", "Softsign", "Mish"], [node([fed(rows)], {}, 18)]),
  HardSigmoid: [node([fed(rows)]), node([fed(rows)], { alpha: float(1), beta: zero })],
  Gelu: [node([fed(rows)], {}, 20), node([fed(rows)], { approximate: "tanh" }, 20)],
  Shrink: [node([fed(rows)]), node([fed(rows)], { bias: float(0.3), lambd: float(-1) })],
  Swish: [node([fed(rows)], {}, 24)],
  ...each(["IsNaN", "IsInf"], [node([fed(rows)])]),
  Not: [node([fed(rows, "bool")])],
  BitwiseNot: [node([fed(rows, "int32")], {}, 18)],
  Cast: [
    node([fed(rows)], { to: 7 }),
    node([fed(rows)], { to: 9 }),
    node([fed(rows, "int32")], { to: 1 }),
    node([fed(rows)], { to: 10 }),
  ],
  CastLike: [node([fed(rows), fed([1], "int64")]), node([fed(rows, "bool"), fed(rows)])],
  Clip: [
    node([fed(rows)], {}, 7),
    node([fed(rows)], { min: float(0.2), max: float(0.4) }, 10),
    node([fed(rows), scalar(0.2)]),
    node([fed(rows), undefined, scalar(-0.1)]),
    node([fed(rows), scalar(0.5), scalar(0.1)]),
  ],
  Identity: [node([fed(rows)]), node([fed(rows, "int64")])],
  Dropout: [
    node([fed(rows)], { ratio: float(0.5) }, 10, 2),
    node([fed(rows), scalar(0.5), scalar(0, "bool")], {}, 13, 2),
    node([fed(rows), scalar(0.5), scalar(1, "bool")], { seed: 3 }, 13, 2),
  ],
};

const pairs = [
  node([fed(rows), fed(rows)]),
  node([fed(rows), fed([5])]),
  node([fed(rows), fed([3, 1])]),
  node([fed(rows), stored([5])]),
  node([stored([5]), fed(rows)]),
  node([fed(rows), given([3, 1], [0.5, 2, 3])]),
  node([fed(rows), scalar(2)]),
  node([fed([5]), fed([4, 1, 5])], {}, 7),
];
const wholes = [node([fed(rows, "int32"), fed([5], "int32")], {}, 18)];
const truths = [node([fed(rows, "bool"), fed([5], "bool")])];

export const binary: Cases = {
  ...each(["Add", "Sub", "Mul", "Div", "Pow", "Greater", "Less"], pairs),
  ...each(["Equal", "GreaterOrEqual", "LessOrEqual"], pairs.slice(0, 7)),
  ...each(
    ["Sum", "Mean", "Max", "Min"],
    [...pairs.slice(0, 7), node([fed(rows)]), node([fed(rows), fed([5]), fed([3, 1])], {}, 8)],
  ),
  Div: [
    ...pairs,
    node([fed(rows, "int32"), given([5], [1, 2, 3, 4, 5], "int32")]),
    node([fed(rows), { ...fed([3, 1]), values: [1, 2, 3] }]),
  ],
  Mod: [
    node([fed(rows), fed([5])], { fmod: 1 }),
    node([fed(rows), given([5], [1, 2, 3, 4, 5])], { fmod: 1 }),
    node([fed(rows, "int64"), given([5], [1, 2, 3, 4, 5], "int64")]),
  ],
  Pow: [...pairs, node([fed(rows), scalar(-1)]), node([fed(rows), scalar(0)]), node([fed(rows), scalar(3)])],
  ...each(["And", "Or", "Xor"], truths),
  ...each(["BitwiseAnd", "BitwiseOr", "BitwiseXor"], wholes),
  BitShift: [node([fed(rows, "uint8"), fed([5], "uint8")], { direction: "LEFT" })],
  Where: [
    node([fed(rows, "bool"), fed(rows), fed([5])]),
    node([fed([3, 1], "bool"), fed(rows), scalar(-1)]),
    node([fed(rows, "bool"), scalar(Number.NEGATIVE_INFINITY), fed([5])]),
  ],
  PRelu: [node([fed(rows), fed([5])]), node([fed(rows), stored([5])]), node([fed(rows), stored([1])])],
  SwiGLU: [node([fed(rows), fed(rows)], {}, 26)],
};
