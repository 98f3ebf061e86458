import { describe, expect, test } from "vitest";
import type { Dim } from "../../src/ir/dim.ts";
import { ShapeError, type TensorFact } from "../../src/ops/op.ts";
import { tensor } from "../../src/ops/shape.ts";
import { type ContextOptions, infer, unknown } from "./context.ts";
import { anyRank, computed, float, ints, n, p, s, scalar, shown } from "./tensors.ts";

describe("growing, repeating and scaling", () => {
  test("Pad, of all axes or of some", () => {
    const pad = (input: TensorFact, pads: TensorFact, ...more: (TensorFact | undefined)[]) =>
      shown({ type: "Pad", inputs: [input, pads, ...more] });
    expect(pad(float(n, 3), ints(0, 1, 0, 2))).toBe("float32[N,6]");
    expect(pad(float(n, 3), ints(1, p), undefined, ints(0))).toBe("float32[N + P + 1,3]");
    expect(pad(float(n, 3), ints(-1, 1), undefined, ints(-1))).toBe("float32[N,3]");
    expect(pad(ints(1, 2), ints(1, 1), scalar(9))).toBe("int64[4] = 9,1,2,9");
    expect(pad(ints(1, 2, 3), ints(-1, 1))).toBe("int64[3] = 2,3,0");
    expect(pad(float(n, 3), computed(4))).toBe("float32[?,?]");
    expect(pad(anyRank, ints(0, 0))).toBe("float32[?]");
    const old = { opset: 10, attributes: { pads: [0, 1, 0, 1], mode: "reflect" } };
    expect(shown({ type: "Pad", ...old, inputs: [float(n, 3)] })).toBe("float32[N,5]");
    const reflected = { type: "Pad", attributes: { mode: "reflect" }, inputs: [ints(1, 2), ints(1, 0)] };
    expect(shown(reflected)).toBe("int64[3]");
    expect(() => pad(float(2, 3), ints(1, 1))).toThrow(/has 2 pads for 2 axes, expected 4/);
    expect(() => pad(float(2), ints(-2, -1))).toThrow(ShapeError);
  });

  test("CenterCropPad", () => {
    const attributes = { axes: [-1] };
    expect(shown({ type: "CenterCropPad", attributes, inputs: [float(n, 3), ints(5)] })).toBe("float32[N,5]");
    expect(shown({ type: "CenterCropPad", attributes, inputs: [float(n, 3), computed(1)] })).toBe(
      "float32[N,?]",
    );
  });

  test("Expand broadcasts both ways", () => {
    const expand = (input: TensorFact, target: TensorFact) =>
      shown({ type: "Expand", inputs: [input, target] });
    expect(expand(float(1, 3), ints(n, 1, 1))).toBe("float32[N,1,3]");
    expect(expand(float(n, 1), ints(1, 4))).toBe("float32[N,4]");
    expect(expand(ints(1, 2), ints(2, 2))).toBe("int64[2,2] = 1,2,1,2");
    expect(expand(float(7, 1), computed(3))).toBe("float32[?,7,?]");
    expect(expand(float(7, 1), computed(unknown))).toBe("float32[*]");
    expect(() => expand(float(2), ints(3))).toThrow(ShapeError);
    expect(() => expand(float(2), ints(-1))).toThrow(ShapeError);
  });

  test("Tile", () => {
    const tile = (input: TensorFact, repeats: TensorFact) =>
      shown({ type: "Tile", inputs: [input, repeats] });
    expect(tile(float(n, 3), ints(2, s))).toBe("float32[2*N,3*S]");
    expect(tile(ints(1, 2), ints(2))).toBe("int64[4] = 1,2,1,2");
    expect(tile(float(n, 3), computed(2))).toBe("float32[?*N,3*?]");
    expect(tile(anyRank, computed(2))).toBe("float32[?*?,?*?]");
    expect(() => tile(float(2), ints(1, 1))).toThrow(ShapeError);
  });

  test("DepthToSpace and SpaceToDepth", () => {
    const attributes = { blocksize: 2 };
    expect(shown({ type: "DepthToSpace", attributes, inputs: [float(n, 12, 4, s)] })).toBe(
      "float32[N,3,8,2*S]",
    );
    expect(shown({ type: "SpaceToDepth", attributes, inputs: [float(n, 3, 8, 6)] })).toBe(
      "float32[N,12,4,3]",
    );
    expect(() => infer({ type: "DepthToSpace", attributes, inputs: [float(1, 6, 4, 4)] })).toThrow(
      ShapeError,
    );
    expect(() => infer({ type: "DepthToSpace", attributes, inputs: [float(8, 6)] })).toThrow(
      /rank 2, expected 4/,
    );
    expect(() => infer({ type: "SpaceToDepth", inputs: [float(1, 3, 8, 6)] })).toThrow(
      /blocksize is missing/,
    );
  });

  const factors = (...elements: number[]) => tensor("float32", [elements.length], elements);
  const none = tensor("float32", [0], []);

  test("Resize by scales", () => {
    const image = float(n, 3, 10, s);
    const scales = factors(1, 1, Math.fround(0.7), 2);
    expect(shown({ type: "Resize", inputs: [image, none, scales] })).toBe("float32[N,3,7,2*S]");
    expect(shown({ type: "Resize", opset: 10, inputs: [image, scales] })).toBe("float32[N,3,7,2*S]");
    expect(shown({ type: "Upsample", opset: 9, inputs: [image, scales] })).toBe("float32[N,3,7,2*S]");
    expect(shown({ type: "Upsample", opset: 7, attributes: { scales: [1, 1, 2, 2] }, inputs: [image] })).toBe(
      "float32[N,3,20,2*S]",
    );
    expect(shown({ type: "Resize", inputs: [image, none, factors(1, 1, 1, 0.5)] })).toBe(
      "float32[N,3,10,floordiv(S, 2)]",
    );
    expect(shown({ type: "Resize", inputs: [image, none, tensor("float32", [4])] })).toBe("float32[?,?,?,?]");
    expect(() => infer({ type: "Resize", inputs: [image, none, factors(2, 2)] })).toThrow(ShapeError);
  });

  test("Resize to sizes, of some axes, keeping the aspect ratio", () => {
    const image = float(n, 3, 10, 20);
    const to = (attributes: ContextOptions["attributes"], ...sizes: Dim[]) =>
      shown({
        type: "Resize",
        attributes: attributes ?? {},
        inputs: [image, undefined, undefined, ints(...sizes)],
      });
    expect(to({}, n, 3, 5, s)).toBe("float32[N,3,5,S]");
    expect(to({ axes: [3, 2] }, 40, 30)).toBe("float32[N,3,30,40]");
    expect(to({ axes: [2, 3], keep_aspect_ratio_policy: "not_larger" }, 7, 7)).toBe("float32[N,3,4,7]");
    expect(to({ axes: [2, 3], keep_aspect_ratio_policy: "not_smaller" }, 7, 7)).toBe("float32[N,3,7,14]");
    expect(to({ axes: [0, 3], keep_aspect_ratio_policy: "not_smaller" }, 7, 7)).toBe("float32[?,3,10,?]");
  });
});
