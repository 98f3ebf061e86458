import { describe, expect, test } from "vitest";
import { type Dim, symbol } from "../../src/ir/dim.ts";
import { ShapeError } from "../../src/ops/op.ts";
import { tensor } from "../../src/ops/shape.ts";
import { type ContextOptions, infer, inferTensor, show } from "./context.ts";

const N = symbol("N");
const ints = (...elements: Dim[]) => tensor("int64", [elements.length], elements);
const scalar = (value: Dim) => tensor("int64", [], [value]);
const one = (options: ContextOptions) => show(inferTensor(options));
const all = (options: ContextOptions) => infer(options).map(show);

describe("results as large as what is found", () => {
  test("NonZero folds constants, and else tells the rank", () => {
    const matrix = tensor("bool", [2, 3], [1, 0, 1, 0, 1, 0]);
    expect(one({ type: "NonZero", inputs: [matrix] })).toBe("int64[2,3] = 0,0,1,0,2,1");
    expect(one({ type: "NonZero", inputs: [tensor("int64", [], [5])] })).toBe("int64[1,1] = 0");
    expect(one({ type: "NonZero", inputs: [tensor("float32", [N, 4, 4])] })).toBe("int64[3,?]");
    expect(one({ type: "NonZero", inputs: [tensor("float32", undefined)] })).toBe("int64[?,?]");
  });

  test("Unique's outputs share one unknown size", () => {
    const [values, first, inverse, counts] = infer({
      type: "Unique",
      inputs: [tensor("float32", [2, N])],
      outputCount: 4,
    });
    expect([values, first, inverse, counts].map(show)).toEqual([
      "float32[?]",
      "int64[?]",
      "int64[2*N]",
      "int64[?]",
    ]);
    expect(
      values?.kind === "tensor" && first?.kind === "tensor" && values.shape?.[0] === first.shape?.[0],
    ).toBe(true);
    expect(all({ type: "Unique", attributes: { axis: -1 }, inputs: [tensor("int32", [2, N])] })).toEqual([
      "int32[2,?]",
      "int64[?]",
      "int64[N]",
      "int64[?]",
    ]);
  });

  test("Unique of known elements: sorted, or in the order of occurrence; slices along an axis", () => {
    const list = tensor("int32", [6], [7, 3, 7, 1, 3, 7]);
    expect(all({ type: "Unique", inputs: [list] })).toEqual([
      "int32[3] = 1,3,7",
      "int64[3] = 3,1,0",
      "int64[6] = 2,1,2,0,1,2",
      "int64[3] = 1,2,3",
    ]);
    expect(all({ type: "Unique", attributes: { sorted: 0 }, inputs: [list] })).toEqual([
      "int32[3] = 7,3,1",
      "int64[3] = 0,1,3",
      "int64[6] = 0,1,0,2,1,0",
      "int64[3] = 3,2,1",
    ]);
    const columns = tensor("int32", [2, 3], [5, 2, 5, 6, 4, 6]);
    expect(all({ type: "Unique", attributes: { axis: 1 }, inputs: [columns] })).toEqual([
      "int32[2,2] = 2,5,4,6",
      "int64[2] = 1,0",
      "int64[3] = 1,0,1",
      "int64[2] = 1,2",
    ]);
  });

  test("NonMaxSuppression selects triples", () => {
    expect(one({ type: "NonMaxSuppression", inputs: [] })).toBe("int64[?,3]");
  });
});

test("EyeLike folds, Det drops the matrix", () => {
  const attributes = { k: 1, dtype: 7 };
  expect(one({ type: "EyeLike", attributes, inputs: [tensor("float32", [2, 3])] })).toBe(
    "int64[2,3] = 0,1,0,0,0,1",
  );
  expect(one({ type: "EyeLike", inputs: [tensor("float16", [N, N])] })).toBe("float16[N,N]");
  expect(() => one({ type: "EyeLike", inputs: [tensor("float16", [2])] })).toThrow("rank 1, expected 2");
  expect(one({ type: "Det", inputs: [tensor("float32", [N, 3, 3])] })).toBe("float32[N]");
  expect(() => one({ type: "Det", inputs: [tensor("float32", [3, 4])] })).toThrow(ShapeError);
});

describe("random tensors", () => {
  test("of a shape, or of an input's", () => {
    expect(one({ type: "RandomNormal", attributes: { shape: [2, 3] } })).toBe("float32[2,3]");
    expect(one({ type: "RandomUniform", attributes: { shape: [2], dtype: 10 } })).toBe("float16[2]");
    expect(() => one({ type: "RandomNormal", attributes: { shape: [-1] } })).toThrow(
      "shape is -1, expected a size",
    );
    const x = tensor("int32", [N]);
    expect(one({ type: "RandomUniformLike", inputs: [x] })).toBe("int32[N]");
    expect(one({ type: "Bernoulli", attributes: { dtype: 9 }, inputs: [x] })).toBe("bool[N]");
    expect(one({ type: "Bernoulli", attributes: { dtype: 99 }, inputs: [x] })).toBe("?[N]");
    expect(
      one({ type: "Multinomial", attributes: { sample_size: 5 }, inputs: [tensor("float32", [N, 9])] }),
    ).toBe("int32[N,5]");
  });
});

describe("Fourier transforms", () => {
  const real = tensor("float32", [N, 16, 1]);
  const bins = tensor("float32", [N, 9, 2]);

  test("DFT: complex result; half the bins with onesided; back to a real signal with inverse", () => {
    expect(one({ type: "DFT", opset: 20, inputs: [real] })).toBe("float32[N,16,2]");
    expect(one({ type: "DFT", opset: 20, attributes: { onesided: 1 }, inputs: [real] })).toBe(
      "float32[N,9,2]",
    );
    const back = { onesided: 1, inverse: 1 };
    expect(one({ type: "DFT", opset: 20, attributes: back, inputs: [bins] })).toBe("float32[N,16,1]");
    expect(one({ type: "DFT", opset: 20, inputs: [real, scalar(20)] })).toBe("float32[N,20,2]");
    expect(one({ type: "DFT", opset: 17, attributes: { axis: 0 }, inputs: [real, scalar(4)] })).toBe(
      "float32[4,16,2]",
    );
    expect(one({ type: "DFT", opset: 20, inputs: [real, undefined, tensor("int64", [])] })).toBe(
      "float32[?,?,2]",
    );
    expect(() => one({ type: "DFT", opset: 20, inputs: [real, undefined, scalar(2)] })).toThrow("imaginary");
  });

  test("STFT: the frame is given, or the window's, or the signal", () => {
    const signal = tensor("float32", [2, 128, 1]);
    const step = scalar(8);
    expect(one({ type: "STFT", inputs: [signal, step, undefined, scalar(16)] })).toBe("float32[2,15,9,2]");
    const attributes = { onesided: 0 };
    expect(one({ type: "STFT", attributes, inputs: [signal, step, tensor("float32", [16])] })).toBe(
      "float32[2,15,16,2]",
    );
    expect(one({ type: "STFT", inputs: [signal, step] })).toBe("float32[2,1,65,2]");
    expect(one({ type: "STFT", inputs: [tensor("float32", undefined), step] })).toBe(
      "float32[?,?,floordiv(?, 2) + 1,2]",
    );
    expect(() => one({ type: "STFT", inputs: [signal, scalar(0)] })).toThrow("frame_step is 0");
  });

  test("windows and mel weights", () => {
    for (const type of ["HannWindow", "HammingWindow", "BlackmanWindow"]) {
      expect(one({ type, attributes: { output_datatype: 11 }, inputs: [scalar(N)] })).toBe("float64[N]");
      expect(() => one({ type, inputs: [scalar(-1)] })).toThrow(ShapeError);
    }
    expect(one({ type: "MelWeightMatrix", inputs: [scalar(8), scalar(16)] })).toBe("float32[9,8]");
  });
});

describe("images", () => {
  test("GridSample has the grid's positions", () => {
    const x = tensor("float16", [N, 3, 8, 8]);
    expect(one({ type: "GridSample", inputs: [x, tensor("float32", [2, 5, 6, 2])] })).toBe(
      "float16[2,3,5,6]",
    );
    expect(one({ type: "GridSample", inputs: [x, tensor("float32", undefined)] })).toBe("float16[N,3,?,?]");
    expect(() => one({ type: "GridSample", inputs: [x, tensor("float32", [2, 5, 2])] })).toThrow("rank 3");
  });

  test("AffineGrid has the size's positions", () => {
    const theta = tensor("float32", [N, 2, 3]);
    expect(one({ type: "AffineGrid", inputs: [theta, ints(4, 3, 5, 6)] })).toBe("float32[4,5,6,2]");
    expect(one({ type: "AffineGrid", inputs: [theta, tensor("int64", [4])] })).toBe("float32[N,?,?,2]");
    expect(one({ type: "AffineGrid", inputs: [tensor("float32", undefined), ints(1, 3, 5, 6, 7)] })).toBe(
      "float32[1,5,6,7,3]",
    );
    expect(() => one({ type: "AffineGrid", inputs: [theta, ints(1, 1, 2, 3, 4)] })).toThrow(
      "size has 5 entries",
    );
  });

  test("Col2Im divides columns by the block", () => {
    const columns = tensor("float32", [N, 15, 6]);
    expect(one({ type: "Col2Im", inputs: [columns, ints(5, 5), ints(1, 5)] })).toBe("float32[N,3,5,5]");
    expect(one({ type: "Col2Im", inputs: [columns, tensor("int64", [2]), ints(1, 5)] })).toBe(
      "float32[N,3,?,?]",
    );
    expect(() => one({ type: "Col2Im", inputs: [columns, ints(5, 5), ints(2, 2)] })).toThrow("15 columns");
  });

  test("ImageDecoder tells its channels", () => {
    expect(one({ type: "ImageDecoder", inputs: [] })).toBe("uint8[?,?,3]");
    expect(one({ type: "ImageDecoder", attributes: { pixel_format: "Grayscale" }, inputs: [] })).toBe(
      "uint8[?,?,1]",
    );
  });
});

describe("losses", () => {
  const scores = tensor("float16", [N, 10, 4]);
  const labels = tensor("int64", [3, 4]);

  test("a scalar, or one loss a label", () => {
    for (const type of ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"]) {
      expect(all({ type, inputs: [scores, labels] })[0]).toBe("float16[]");
      expect(all({ type, attributes: { reduction: "none" }, inputs: [scores, labels] })[0]).toBe(
        "float16[3,4]",
      );
      expect(() => all({ type, inputs: [scores, tensor("int64", [3])] })).toThrow(
        "labels have rank 1, expected 2",
      );
    }
    expect(all({ type: "SoftmaxCrossEntropyLoss", inputs: [scores, labels] })[1]).toBe("float16[N,10,4]");
  });
});

test("strings", () => {
  const words = tensor("string", [N]);
  expect(one({ type: "StringNormalizer", inputs: [words] })).toBe("string[N]");
  expect(one({ type: "StringNormalizer", attributes: { stopwords: ["a"] }, inputs: [words] })).toBe(
    "string[?]",
  );
  const attributes = { ngram_indexes: [0, 4, 2] };
  expect(one({ type: "TfIdfVectorizer", attributes, inputs: [tensor("int64", [N, 9])] })).toBe(
    "float32[N,5]",
  );
  expect(one({ type: "RegexFullMatch", inputs: [words] })).toBe("bool[N]");
  expect(one({ type: "StringConcat", inputs: [words, tensor("string", [2, 1])] })).toBe("string[2,N]");
  expect(all({ type: "StringSplit", inputs: [words] })).toEqual(["string[N,?]", "int64[N]"]);
});

describe("ai.onnx.preview.training", () => {
  const domain = "ai.onnx.preview.training";
  const rate = tensor("float32", []);
  const [x, y] = [tensor("float32", [2]), tensor("float64", [N])];

  test("optimizers give back values and states", () => {
    expect(all({ domain, type: "Adagrad", inputs: [rate, scalar(0), x, x, x] })).toEqual([
      "float32[2]",
      "float32[2]",
    ]);
    expect(all({ domain, type: "Adam", inputs: [rate, scalar(0), x, y, x, y, x, y, x, y] })).toEqual(
      new Array(3).fill(["float32[2]", "float64[N]"]).flat(),
    );
    expect(all({ domain, type: "Momentum", inputs: [rate, scalar(0)] })).toEqual([]);
  });

  test("a gradient for every x", () => {
    const attributes = { xs: ["a", "b"], y: "c" };
    expect(all({ domain, type: "Gradient", attributes, inputs: [x, y, rate] })).toEqual([
      "float32[2]",
      "float64[N]",
    ]);
  });
});

describe("ai.onnx.ml", () => {
  const domain = "ai.onnx.ml";
  const x = tensor("float64", [N, 7]);

  test("classifiers give a label and a score a class", () => {
    for (const type of ["LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"]) {
      const strings = { classlabels_strings: ["a", "b", "c"] };
      expect(all({ domain, type, attributes: strings, inputs: [x] })).toEqual(["string[N]", "float32[N,3]"]);
    }
    const attributes = { classlabels_ints: [0, 1] };
    expect(all({ domain, type: "LinearClassifier", attributes, inputs: [tensor("float32", [7])] })).toEqual([
      "int64[1]",
      "float32[1,2]",
    ]);
  });

  test("regressors give a value a target", () => {
    expect(one({ domain, type: "LinearRegressor", attributes: { targets: 2 }, inputs: [x] })).toBe(
      "float32[N,2]",
    );
    expect(one({ domain, type: "SVMRegressor", inputs: [x] })).toBe("float32[N,1]");
    expect(one({ domain, type: "TreeEnsembleRegressor", attributes: { n_targets: 3 }, inputs: [x] })).toBe(
      "float32[N,3]",
    );
    expect(one({ domain, type: "TreeEnsemble", attributes: { n_targets: 3 }, inputs: [x] })).toBe(
      "float64[N,3]",
    );
  });

  test("encoders and scalers", () => {
    expect(one({ domain, type: "Scaler", inputs: [x] })).toBe("float32[N,7]");
    expect(one({ domain, type: "Binarizer", inputs: [x] })).toBe("float64[N,7]");
    expect(one({ domain, type: "ArrayFeatureExtractor", inputs: [x, ints(0, 3)] })).toBe("float64[N,2]");
    expect(one({ domain, type: "OneHotEncoder", attributes: { cats_int64s: [1, 2] }, inputs: [x] })).toBe(
      "float32[N,7,2]",
    );
    expect(one({ domain, type: "CategoryMapper", inputs: [tensor("string", [N])] })).toBe("int64[N]");
    const attributes = { inputdimensions: [7, 2] };
    expect(one({ domain, type: "FeatureVectorizer", attributes, inputs: [x, x] })).toBe("float32[N,9]");
  });

  test("LabelEncoder has the type of its values", () => {
    const encoded = (attributes: NonNullable<ContextOptions["attributes"]>) =>
      one({ domain, type: "LabelEncoder", attributes, inputs: [tensor("string", [N])] });
    expect(encoded({ values_floats: [0.5] })).toBe("float32[N]");
    expect(encoded({ values_int64s: [5] })).toBe("int64[N]");
    expect(encoded({ values_strings: ["a"] })).toBe("string[N]");
    expect(encoded({ values_tensor: tensor("int16", [2]) })).toBe("int16[N]");
    expect(encoded({ classes_strings: ["a"] })).toBe("int64[N]");
  });

  test("maps", () => {
    expect(
      one({ domain, type: "CastMap", attributes: { cast_to: "TO_INT64" }, inputs: [{ kind: "map" }] }),
    ).toBe("int64[1,?]");
    expect(infer({ domain, type: "ZipMap", inputs: [x] })).toEqual([
      { kind: "sequence", element: { kind: "map" }, length: N },
    ]);
  });
});
