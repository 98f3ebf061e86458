import { describe, expect, it } from "vitest";
import { matchActivation } from "../../../cuda-runtime/ir/activation-match.ts";
import type { PendingProduct } from "../../../cuda-runtime/ir/epilogue.ts";
import { matchEpilogue } from "../../../cuda-runtime/ir/epilogue-match.ts";
import type { Expr } from "../../../cuda-runtime/ir/expr.ts";
import {
  binary,
  constant,
  load,
  productLeaf,
  storedConstant,
  unary,
} from "../../../cuda-runtime/ir/expr-build.ts";
import { narrowValue } from "../../../cuda-runtime/ir/expr-value.ts";
import { nodesOf, substitute } from "../../../cuda-runtime/ir/expr-walk.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { stridesOf } from "../../../cuda-runtime/ir/view.ts";

const shape = [2, 8, 5, 5];

function viewOf(sizes: readonly number[], id = 1): View {
  const buffer = { id, kind: "constant" as const, bytes: 4096, name: "b" };
  return { buffer, type: "float32", shape: sizes, strides: stridesOf(sizes), offset: 0 };
}

const product: PendingProduct = {
  shape,
  type: "float16",
  channelAxis: 1,
  order: [0, 2, 3, 1],
  acceptsOutput: () => true,
  acceptsResidual: () => true,
  emit: () => {
    throw new Error("not launched here");
  },
};
const x = load(viewOf(shape, 7));
const p = productLeaf(product);
const c = (value: number) => constant("f32", value);

const written: Record<string, (x: Expr) => Expr> = {
  relu: (x) => binary("max", x, c(0)),
  clip: (x) => binary("min", binary("max", x, c(0)), c(6)),
  sigmoid: (x) => unary("sigmoid", x),
  silu: (x) => binary("mul", x, unary("sigmoid", x)),
  gelu: (x) =>
    binary(
      "mul",
      binary("mul", x, c(0.5)),
      binary("add", unary("erf", binary("div", x, c(Math.SQRT2))), c(1)),
    ),
  geluTanh: (x) => {
    const cube = binary("mul", binary("mul", x, x), x);
    const inner = binary(
      "mul",
      binary("add", x, binary("mul", cube, c(0.044715))),
      c(Math.sqrt(2 / Math.PI)),
    );
    return binary("mul", binary("mul", x, c(0.5)), binary("add", unary("tanh", inner), c(1)));
  },
  hardSwish: (x) =>
    binary("div", binary("mul", x, binary("min", binary("max", binary("add", x, c(3)), c(0)), c(6))), c(6)),
  hardSigmoid: (x) =>
    binary("min", binary("max", binary("add", binary("mul", x, c(0.2)), c(0.5)), c(0)), c(1)),
  softplus: (x) => unary("log", binary("add", unary("exp", x), c(1))),
  affine: (x) => binary("add", binary("mul", x, c(3)), c(-2)),
};

describe("activations by their values", () => {
  it.each(Object.keys(written).filter((kind) => kind !== "softplus"))(
    "knows %s as exporters write it",
    (kind) => {
      expect(matchActivation(written[kind]?.(x) ?? x, x)?.kind).toBe(kind);
    },
  );

  it.each(["float16", "bfloat16"] as const)("knows GELU where its numbers are stored in %s", (storage) => {
    for (const kind of ["gelu", "geluTanh"]) {
      const exact = written[kind]?.(x) ?? x;
      const constants = nodesOf(exact).filter((node) => node.kind === "constant");
      const rounded = (value: number) => narrowValue(storage, value);
      const stored = constants.map(
        (node) => [node, storedConstant("f32", rounded(node.value), storage)] as const,
      );
      expect(matchActivation(substitute(exact, new Map(stored)), x)?.kind, kind).toBe(kind);
      // Numbers of FP32 are what they are.
      const other = constants.map((node) => [node, constant("f32", rounded(node.value))] as const);
      expect(matchActivation(substitute(exact, new Map(other)), x), kind).toBeUndefined();
    }
  });

  it.each(["sin", "exp", "sqrt", "cos", "erf"] as const)("takes %s for none of them", (op) => {
    expect(matchActivation(unary(op, x), x)).toBeUndefined();
  });

  it("reads the bounds of a clip and the slope of a leaky ReLU", () => {
    expect(matchActivation(written["clip"]?.(x) ?? x, x)).toEqual({ kind: "clip", a: 0, b: 6 });
    const leaky = binary("max", x, binary("mul", x, c(0.1)));
    expect(matchActivation(leaky, x)?.a).toBeCloseTo(0.1, 6);
  });
});

describe("epilogues", () => {
  const bias = load(viewOf([8, 1, 1]));

  it("takes scale, bias, activation, residual and a last activation", () => {
    const normalized = binary("add", binary("mul", p, load(viewOf([1, 8, 1, 1]))), bias);
    const whole = binary("max", binary("add", binary("max", normalized, c(0)), x), c(0));
    const match = matchEpilogue(whole, shape);
    expect(match).toMatchObject({ activation: { kind: "relu" }, last: { kind: "relu" }, residual: x });
    expect(match?.scale).toBeDefined();
    expect(match?.bias).toBe(bias);
  });

  it("takes x · sigmoid(x) behind a bias, both of its uses", () => {
    const biased = binary("add", p, bias);
    expect(matchEpilogue(binary("mul", biased, unary("sigmoid", biased)), shape)?.activation.kind).toBe(
      "silu",
    );
  });

  it("refuses what varies along other axes than the channels', and a second residual", () => {
    expect(matchEpilogue(binary("add", p, load(viewOf([1, 1, 5, 5]))), shape)).toBeUndefined();
    expect(matchEpilogue(binary("mul", p, x), shape)).toBeUndefined();
    expect(matchEpilogue(binary("add", binary("add", p, x), load(viewOf(shape, 9))), shape)).toBeUndefined();
  });

  it("refuses a product that is broadcast", () => {
    expect(matchEpilogue(binary("add", p, x), [3, ...shape])).toBeUndefined();
  });
});
