/** @file Products, normalizations and pools, of ai.onnx and of ONNX Runtime. */
import type { Attributes } from "../../fixtures/builder.ts";
import {
  type Cases,
  cube,
  each,
  fed,
  float,
  given,
  image,
  node,
  rows,
  scalar,
  stored,
  variances,
  within,
  zero,
} from "./contract-operands.ts";
import type { ContractCase, Operand } from "./contracts.ts";

const convolutions = [
  node([fed(image), stored([6, 4, 3, 3]), stored([6])], { pads: [1, 1, 1, 1] }),
  node([fed(image), stored([6, 4, 3, 3])], { auto_pad: "SAME_UPPER", strides: [2, 1] }, 11),
  node([fed(image), stored([4, 1, 3, 3]), stored([4])], { group: 4 }),
  node([fed(image), stored([8, 1, 3, 3])], { group: 4 }),
  node([fed(image), stored([6, 2, 3, 3])], { group: 2 }),
  node([fed(image), fed([6, 4, 3, 3]), fed([6])]),
];
const transposed = [
  node([fed(image), stored([4, 6, 3, 3]), stored([6])], { strides: [2, 2] }),
  node([fed(image), stored([4, 1, 3, 3])], { group: 4, output_padding: [1, 1], strides: [2, 2] }, 11),
  node([fed(image), stored([4, 3, 3, 3])], { group: 2 }),
  node([fed(image), stored([4, 6, 3, 3])], { output_shape: [5, 6] }),
  node([fed(image), fed([4, 6, 3, 3])]),
];
const gemms = [
  node([fed([3, 5]), stored([5, 4]), stored([4])], { alpha: float(2), beta: float(0.5) }),
  node([fed([5, 3]), stored([4, 5])], { transA: 1, transB: 1 }, 11),
  node([fed([3, 5]), fed([5, 4]), fed([3, 1])]),
  node([fed([3, 5]), fed([5, 4]), scalar(1)], { alpha: zero, beta: float(3) }),
];
const matrices = [
  node([fed([3, 5]), stored([5, 4])]),
  node([fed([2, 3, 5]), fed([2, 5, 4])]),
  node([fed([5]), stored([5, 4])]),
  node([fed([2, 3, 5]), fed([5])]),
  node([fed([5]), fed([5])]),
  node([stored([4, 3]), fed([2, 1, 3, 5])], {}, 11),
];
const recurrent = (gates: number, states: number, more: Attributes = {}) => [
  node(
    [within([3, 2, 4]), stored([1, gates * 3, 4]), stored([1, gates * 3, 3])],
    { hidden_size: 3, ...more },
    17,
    states,
  ),
  node(
    [within([3, 2, 4]), stored([2, gates * 3, 4]), stored([2, gates * 3, 3]), stored([2, gates * 6])],
    { hidden_size: 3, direction: "bidirectional", ...more },
    11,
    states,
  ),
  node(
    [
      within([3, 2, 4]),
      stored([1, gates * 3, 4]),
      stored([1, gates * 3, 3]),
      undefined,
      undefined,
      within([1, 2, 3]),
    ],
    { hidden_size: 3, direction: "reverse", ...more },
    14,
    states,
  ),
  node(
    [fed([3, 2, 4]), stored([1, gates * 3, 4]), stored([1, gates * 3, 3])],
    { hidden_size: 3, ...more },
    17,
    states,
  ),
];

export const products: Cases = {
  Conv: convolutions,
  ConvTranspose: transposed,
  Gemm: gemms,
  MatMul: matrices,
  Einsum: ["ij,jk->ik", "bij,bkj->bik", "ij,ij->", "ii->i", "ij->ji", "ij->i", "ij,k->ijk"].map(
    (equation) => {
      const operands = (equation.split("->")[0] ?? "").split(",");
      return node(
        operands.map((labels) => fed([...labels].map((label) => ({ b: 2, i: 3, j: 4, k: 5 })[label] ?? 1))),
        { equation },
      );
    },
  ),
  LSTM: [
    ...recurrent(4, 3),
    node(
      [
        within([3, 2, 4]),
        stored([1, 12, 4]),
        stored([1, 12, 3]),
        stored([1, 24]),
        undefined,
        within([1, 2, 3]),
        within([1, 2, 3]),
        stored([1, 9]),
      ],
      { hidden_size: 3 },
      17,
      3,
    ),
  ],
  GRU: [...recurrent(3, 2), ...recurrent(3, 2, { linear_before_reset: 1 })],
  RNN: recurrent(1, 2),
  Attention: [
    node([fed([2, 3, 6]), fed([2, 4, 6]), fed([2, 4, 6])], { q_num_heads: 2, kv_num_heads: 2 }, 23),
    node([fed([2, 2, 3, 4]), fed([2, 2, 4, 4]), fed([2, 2, 4, 6])], { is_causal: 1 }, 23),
    node(
      [
        fed([2, 2, 3, 4]),
        fed([2, 2, 1, 4]),
        fed([2, 2, 1, 4]),
        undefined,
        fed([2, 2, 3, 4]),
        fed([2, 2, 3, 4]),
      ],
      {},
      23,
      3,
    ),
  ],
};

const scaleAndShift = [stored([4]), stored([4])];
const epsilons = [{}, { epsilon: zero }, { epsilon: float(1e-12) }, { epsilon: float(1e-30) }];
const normed = (type: string): ContractCase[] =>
  epsilons.flatMap((epsilon): ContractCase[] => {
    switch (type) {
      case "BatchNormalization":
        return [
          node([fed(image), ...scaleAndShift, stored([4]), variances(4)], epsilon, 15),
          node([fed(image), ...scaleAndShift, stored([4]), variances(4)], { ...epsilon, spatial: 1 }, 7),
          node([fed(image), fed([4]), fed([4]), fed([4]), { ...fed([4]), values: [1, 2, 3, 4] }], epsilon),
          node(
            [fed(image), ...scaleAndShift, stored([4]), variances(4)],
            { ...epsilon, training_mode: 1 },
            15,
            3,
          ),
        ];
      case "InstanceNormalization":
        return [
          node([fed(image), ...scaleAndShift], epsilon),
          node([fed(image), fed([4]), fed([4])], epsilon, 7),
        ];
      case "GroupNormalization":
        return [
          node([fed(image), ...scaleAndShift], { ...epsilon, num_groups: 2 }, 21),
          node([fed(image), ...scaleAndShift], { ...epsilon, num_groups: 4 }, 21),
          node([fed(image), stored([2]), stored([2])], { ...epsilon, num_groups: 2 }, 18),
        ];
      case "RMSNormalization":
        return [
          node([fed(cube), stored([5])], epsilon, 23),
          node([fed(cube), stored([3, 5])], { ...epsilon, axis: 1 }, 23),
        ];
      default:
        return [
          node([fed(cube), stored([5]), stored([5])], epsilon, 17, 3),
          node([fed(cube), stored([3, 5])], { ...epsilon, axis: -2 }),
        ];
    }
  });

export const normalizations: Cases = {
  ...Object.fromEntries(
    [
      "BatchNormalization",
      "InstanceNormalization",
      "GroupNormalization",
      "LayerNormalization",
      "RMSNormalization",
    ].map((type) => [type, normed(type)]),
  ),
  LpNormalization: [node([fed(cube)], { axis: 1 }), node([fed(cube)], { p: 1 })],
  MeanVarianceNormalization: [node([fed(image)]), node([fed(image)], { axes: [2, 3] })],
  LRN: [node([fed(image)], { size: 3 }), node([fed(image)], { size: 3, bias: zero, alpha: float(1) })],
  MaxPool: [
    node([fed(image)], { kernel_shape: [2, 2] }),
    node([fed(image)], { kernel_shape: [2, 2], pads: [1, 1, 0, 0], ceil_mode: 1 }, 12),
    node([fed(image)], { kernel_shape: [2, 2] }, 17, 2),
  ],
  AveragePool: [
    node([fed(image)], { kernel_shape: [3, 3], pads: [1, 1, 1, 1] }),
    node([fed(image)], { kernel_shape: [2, 2], pads: [1, 1, 1, 1], count_include_pad: 1 }, 11),
  ],
  LpPool: [node([fed(image)], { kernel_shape: [2, 2] }), node([fed(image)], { kernel_shape: [2, 2], p: 1 })],
  ...each(["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"], [node([fed(image)])]),
  QuantizeLinear: [
    node([fed(rows), scalar(0.1), scalar(3, "uint8")]),
    node([fed(rows), given([5], [0.1, 0.2, 0.3, 0.4, 0.5]), given([5], [1, 2, 3, 4, 5], "uint8")], {
      axis: -1,
    }),
    node([fed(rows), scalar(0.1)], {}, 10),
  ],
  DequantizeLinear: [
    node([fed(rows, "uint8"), scalar(0.1), scalar(3, "uint8")]),
    node([fed(rows, "int8"), given([5], [0.1, 0.2, 0.3, 0.4, 0.5])], { axis: 1 }),
    node([fed(rows, "uint8"), scalar(0.1)], {}, 10),
  ],
  SimplifiedLayerNormalization: epsilons.map((epsilon) => node([fed(cube), stored([5])], epsilon)),
};

const fusedOutputs = (operands: readonly Operand[]) =>
  epsilons.map((epsilon) => node(operands, epsilon, 17, 4));

/** Codes [n, blocks, 8] of blocks of 16. */
const fourBits = (n: number, blocks: number) =>
  given(
    [n, blocks, 8],
    Array.from({ length: n * blocks * 8 }, (_, at) => (at * 37 + 11) % 256),
    "uint8",
  );

export const microsoft: Cases = {
  ...each(
    ["FusedMatMul", "TransposeMatMul"],
    [...matrices.slice(0, 2), node([fed([5, 3]), stored([4, 5])], { transA: 1, transB: 1, alpha: float(2) })],
  ),
  FusedMatMul: [
    ...matrices.slice(0, 2),
    node([fed([2, 5, 3]), fed([2, 4, 5])], { transA: 1, transB: 1, alpha: float(2) }),
    node([fed([3, 2, 5]), fed([2, 5, 4])], { transBatchA: 1 }),
  ],
  // Five columns of two blocks: scales flat, and a row a column; zero points packed; a bias.
  MatMulNBits: [
    node([fed([2, 3, 32]), fourBits(5, 2), stored([10])], { K: 32, N: 5, bits: 4, block_size: 16 }),
    node([fed([3, 32]), fourBits(5, 2), stored([5, 2])], { K: 32, N: 5, bits: 4, block_size: 16 }),
    node([fed([3, 32]), fourBits(5, 2), stored([10]), given([5], [0x78, 0x87, 0x69, 0x96, 0x7a], "uint8")], {
      K: 32,
      N: 5,
      bits: 4,
      block_size: 16,
    }),
    node([fed([3, 32]), fourBits(5, 2), stored([10]), undefined, undefined, stored([5])], {
      K: 32,
      N: 5,
      bits: 4,
      block_size: 16,
    }),
  ],
  FusedConv: ["Relu", "Tanh", "Sigmoid", "LeakyRelu"].map((activation) =>
    node([fed(image), stored([6, 4, 3, 3]), stored([6])], {
      activation,
      ...(activation === "LeakyRelu" && { activation_params: { floats: [0.1] } }),
    }),
  ),
  ...each(["NhwcConv", "NhwcFusedConv"], [node([fed([2, 5, 6, 4]), stored([6, 3, 3, 4]), stored([6])])]),
  Attention: [
    node([fed([2, 3, 4]), stored([4, 18]), stored([18])], { num_heads: 2 }),
    node([fed([2, 3, 4]), stored([4, 20]), stored([20])], { num_heads: 2, qkv_hidden_sizes: [6, 6, 8] }),
  ],
  MultiHeadAttention: [
    node([fed([2, 3, 6]), fed([2, 4, 6]), fed([2, 4, 6])], { num_heads: 2 }),
    node([fed([2, 3, 6]), fed([2, 4, 6]), fed([2, 4, 8]), stored([20])], { num_heads: 2 }),
  ],
  GroupQueryAttention: [
    {
      ...node(
        [
          fed([2, 1, 32]),
          fed([2, 1, 16]),
          fed([2, 1, 16]),
          undefined,
          undefined,
          given([2], [0, 0], "int32"),
          given([1], [1], "int32"),
        ],
        { num_heads: 4, kv_num_heads: 2 },
        17,
        3,
      ),
      step: 8,
    },
  ],
  SkipLayerNormalization: fusedOutputs([fed(cube), fed(cube), stored([5]), stored([5])]),
  SkipSimplifiedLayerNormalization: fusedOutputs([fed(cube), fed(cube), stored([5])]),
  LayerNormalization: epsilons.map((epsilon) => node([fed(cube), stored([5]), stored([5])], epsilon)),
  SimplifiedLayerNormalization: epsilons.map((epsilon) => node([fed(cube), stored([5])], epsilon)),
  QuantizeLinear: [node([fed(rows), scalar(0.1), scalar(3, "uint8")])],
  DequantizeLinear: [node([fed(rows, "uint8"), scalar(0.1), scalar(3, "uint8")])],
  ...each(["Gelu", "FastGelu", "QuickGelu"], [node([fed(rows)])]),
  BiasGelu: [node([fed(rows), stored([5])])],
  BiasAdd: [node([fed([2, 3, 320]), stored([320]), fed([2, 3, 320])])],
};

/** Channels last: what ONNX Runtime makes of convolutions and pools while it optimizes. */
export const nhwc: Cases = {
  Conv: [node([fed([2, 5, 6, 4]), stored([6, 4, 3, 3])])],
  ConvTranspose: [node([fed([2, 5, 6, 4]), stored([4, 6, 3, 3])])],
  ...each(["MaxPool", "AveragePool", "LpPool"], [node([fed([2, 5, 6, 4])], { kernel_shape: [2, 2] })]),
  QLinearAveragePool: [
    node([fed([2, 5, 6, 4], "uint8"), scalar(0.1), scalar(3, "uint8"), scalar(0.1), scalar(3, "uint8")], {
      kernel_shape: [2, 2],
    }),
  ],
  ...each(["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"], [node([fed([2, 5, 6, 4])])]),
  Resize: [node([fed([2, 5, 6, 4]), undefined, given([4], [1, 2, 2, 1])])],
};
