/** @file Cases 1 to 16: bytes that are no model, or no longer one. */
import { execFileSync } from "node:child_process";
import { mkdirSync, truncateSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { field, float, floats, info, join, modelBytes, node, reluModel, varint } from "../build.ts";
import { type BadInput, file, put } from "./case.ts";

const repeat = (count: number, ...bytes: number[]) =>
  Buffer.alloc(count * bytes.length, Uint8Array.from(bytes));
const graph = (...parts: readonly Uint8Array[]) => join(varint(1, 8), field(7, ...parts));

const pointer = `version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 102442450
`;

/** A graph in an attribute of a node of a graph … */
function nestedGraphs(levels: number): Uint8Array {
  let inner = field(12, field(1, "y"));
  for (let level = 0; level < levels; level++)
    inner = field(1, field(4, "If"), field(5, field(1, "body"), field(6, inner)));
  return graph(inner);
}

/** Lengths are counted from the inside out: too slow to nest 20,000 levels by copying. */
function deeplyNestedGraphs(levels: number): Uint8Array {
  const heads: Uint8Array[] = [];
  let length = 0;
  for (let level = 0; level < levels; level++) {
    for (const number of [6, 5, 1]) {
      const empty = field(number);
      const head = join(empty.subarray(0, -1), lengthOf(length));
      heads.push(head);
      length += head.length;
    }
  }
  return graph(join(...heads.reverse()));
}

function lengthOf(value: number): Uint8Array {
  return varint(1, value).subarray(1);
}

const millions = 10_000_000;
/** Ten million empty messages: twenty megabytes that must not become gigabytes. */
const empties: BadInput[] = [
  file(12, "10M empty nodes", { error: "no-operator" }, () => graph(repeat(millions, 0x0a, 0))),
  file(12, "10M empty inputs", { error: "no-name" }, () => graph(repeat(millions, 0x5a, 0))),
  file(12, "10M empty outputs", { error: "no-name" }, () => graph(repeat(millions, 0x62, 0))),
  file(12, "10M empty initializers", { error: "bad-dtype" }, () => graph(repeat(millions, 0x2a, 0))),
  file(12, "10M empty sparse initializers", { error: "sparse-tensor" }, () =>
    graph(repeat(millions, 0x7a, 0)),
  ),
  file(12, "10M empty value infos", { error: "no-nodes" }, () => graph(repeat(millions, 0x6a, 0))),
  file(12, "10M empty functions", { error: "too-many-functions" }, () =>
    join(graph(), repeat(millions, 0xca, 1, 0)),
  ),
  file(12, "10M empty opsets", { error: "bad-opset" }, () => join(graph(), repeat(millions, 0x42, 0))),
  file(12, "10M opsets", { error: "no-nodes" }, () => join(graph(), repeat(millions, 0x42, 2, 0x10, 1))),
  file(12, "10M empty metadata entries", { error: "no-nodes" }, () =>
    join(graph(), repeat(millions, 0x72, 0)),
  ),
  file(12, "10M empty attributes", { error: "no-name" }, () =>
    graph(field(1, field(4, "Relu"), repeat(millions, 0x2a, 0))),
  ),
  file(12, "10M empty subgraphs", { error: "too-many-subgraphs" }, () =>
    graph(field(1, field(4, "Relu"), field(5, field(1, "graphs"), repeat(millions, 0x5a, 0)))),
  ),
  file(12, "10M dims", { error: "bad-rank" }, () =>
    graph(field(5, field(8, "w"), varint(2, float), field(1, repeat(millions, 1)))),
  ),
  file(12, "10M axes", { error: "bad-rank" }, () =>
    graph(
      field(11, field(1, "x"), field(2, field(1, varint(1, float), field(2, repeat(millions, 0x0a, 0))))),
    ),
  ),
  file(12, "3M pieces of typed data", { error: "fragmented-data" }, () =>
    graph(field(5, field(8, "w"), varint(2, 7), repeat(3_000_000, 0x3a, 1, 5))),
  ),
  file(12, "10M external data entries", { error: "external-key" }, () =>
    graph(field(5, field(8, "w"), varint(2, float), varint(14, 1), repeat(millions, 0x6a, 0))),
  ),
];

export const byteCases: readonly BadInput[] = [
  file(1, "an empty file", { error: "empty" }, () => ""),
  file(2, "text", { error: "not-onnx" }, () => "This is no model.\n"),
  file(
    2,
    "a page that says 404",
    { error: "not-onnx" },
    () => "<!DOCTYPE html>\n<html><body>Not Found</body></html>\n",
  ),
  file(2, "a Git LFS pointer", { error: "lfs-pointer", says: "git lfs pull --include=" }, () => pointer),
  file(4, "a length beyond the file", { error: "truncated" }, () =>
    join(varint(1, 8), Uint8Array.of(0x3a, 0xff, 0x7f)),
  ),
  file(4, "a length beyond its message", { error: "bad-length" }, () =>
    join(graph(Uint8Array.of(0x0a, 0x70)), field(2, "p")),
  ),
  file(4, "a length of 2^63", { error: "truncated" }, () => Uint8Array.of(0x3a, ...repeat(9, 0x80), 1)),
  file(5, "an integer of eleven bytes", { error: "bad-varint" }, () =>
    Uint8Array.of(8, ...repeat(10, 0x80), 1),
  ),
  file(6, "field number 0", { error: "bad-tag" }, () => join(varint(1, 8), Uint8Array.of(0, 0))),
  file(7, "a graph that is a number", { error: "wire-type" }, () => varint(7, 1)),
  file(7, "a version that is text", { error: "wire-type" }, () => field(1, "\u0008")),
  file(7, "a node name that is a number", { error: "wire-type" }, () =>
    graph(field(1, field(4, "Relu"), varint(3, 1))),
  ),
  file(7, "dims that are floats", { error: "wire-type" }, () =>
    graph(field(5, Uint8Array.of(0x0d, 0, 0, 0, 0))),
  ),
  file(7, "wire type 7", { error: "wire-type" }, () => Uint8Array.of(8, 8, 0x0f)),
  file(8, "groups nested 100,000 deep", { error: "too-deep" }, () =>
    join(varint(1, 8), repeat(100_000, 0xab, 0x06)),
  ),
  file(9, "subgraphs nested 20,000 deep", { error: "too-deep" }, () => deeplyNestedGraphs(20_000)),
  file(9, "subgraphs nested 60 deep", { error: "too-deep" }, () => nestedGraphs(60)),
  file(10, "two graphs", { error: "duplicate-graph" }, () => join(graph(), field(7))),
  file(11, "a name that is not UTF-8", { error: "invalid-utf8" }, () =>
    graph(field(1, field(2, Uint8Array.of(0xff, 0xfe)), field(4, "Relu"))),
  ),
  file(11, "a string attribute that is not UTF-8", "fine", () => {
    const attribute = field(5, field(1, "blob"), varint(20, 3), field(4, Uint8Array.of(0xff)));
    return join(
      graph(
        field(1, field(4, "Relu"), field(1, "x"), field(2, "y"), attribute),
        field(11, field(1, "x")),
        field(12, field(1, "y")),
      ),
      opset,
    );
  }),
  ...empties,
  file(13, "unknown fields and enumeration values", "fine", () => {
    const attribute = field(5, field(1, "later"), varint(20, 99), field(77, "?"));
    const relu = field(1, field(1, "x"), field(2, "y"), field(4, "Relu"), attribute, field(500, "?"));
    const ends = join(field(11, field(1, "x")), field(12, field(1, "y")));
    return join(graph(relu, ends, varint(600, 1)), opset, field(700, "?"));
  }),
  {
    number: 14,
    title: "2.5 GiB, most of them one tensor",
    expect: { error: "no-nodes" },
    write(folder) {
      const elements = 640 * 2 ** 20;
      const tensor = join(field(8, "w"), varint(1, elements), varint(2, float));
      const body = join(Uint8Array.of(0x4a), lengthOf(4 * elements));
      const initializer = join(
        Uint8Array.of(0x2a),
        lengthOf(tensor.length + body.length + 4 * elements),
        tensor,
        body,
      );
      const head = join(
        varint(1, 8),
        opset,
        Uint8Array.of(0x3a),
        lengthOf(initializer.length + 4 * elements),
        initializer,
      );
      const target = put(folder, "model.onnx", head);
      truncateSync(target, head.length + 4 * elements);
      return target;
    },
  },
  file(15, "gzip data", { error: "not-onnx", says: "gzip" }, () => gzipSync(reluModel())),
  file(15, "ONNX Runtime's format", { error: "not-onnx", says: ".ort" }, () =>
    join(Buffer.from("\u0018\0\0\0ORTM"), repeat(64, 0)),
  ),
  file(15, "a TensorRT engine", { error: "not-onnx", says: "TensorRT" }, () =>
    join(Buffer.from("ftrt"), repeat(64, 0)),
  ),
  file(15, "a PyTorch checkpoint", { error: "not-onnx", says: "zip" }, () =>
    join(Buffer.from("PK\u0003\u0004"), repeat(64, 0)),
  ),
  {
    number: 16,
    title: "a folder",
    expect: { stderr: "no .onnx file there" },
    write(folder) {
      mkdirSync(path.join(folder, "model.onnx"));
      return path.join(folder, "model.onnx");
    },
  },
  {
    number: 16,
    title: "a pipe",
    expect: { error: "not-a-file" },
    write(folder) {
      execFileSync("mkfifo", [path.join(folder, "model.onnx")]);
      return path.join(folder, "model.onnx");
    },
  },
  { number: 16, title: "/dev/zero", expect: { error: "not-a-file" }, write: () => "/dev/zero" },
];

const opset = field(8, varint(2, 17));

/** Something of everything: to be cut off anywhere. */
export function smallModel(): Uint8Array {
  const bodies = ["then_branch", "else_branch"].map((name) => ({
    name,
    type: 5,
    g: { name, node: [node("Relu", ["a"], [name])], output: [info(name)] },
  }));
  return modelBytes(
    {
      node: [
        node("Conv", ["x", "w"], ["a"], {
          name: "conv",
          attribute: [{ name: "kernel_shape", type: 7, ints: [1, 1] }],
        }),
        node("If", ["c"], ["y"], { attribute: bodies }),
        node("Twice", ["y"], ["z"], { domain: "local" }),
      ],
      input: [info("x", ["N", 3, 8, 8]), info("c", [], 9)],
      output: [info("z", ["N", 4, 8, 8])],
      initializer: [
        floats("w", [4, 3, 1, 1], Array(12).fill(0.5)),
        { name: "k", dims: [2], dataType: 7, int64Data: [1, 2] },
      ],
      valueInfo: [info("a", ["N", 4, 8, 8])],
    },
    {
      producerName: "test",
      metadataProps: [{ key: "k", value: "v" }],
      functions: [
        {
          domain: "local",
          name: "Twice",
          input: ["p"],
          output: ["q"],
          node: [node("Add", ["p", "p"], ["q"])],
        },
      ],
    },
  );
}
