/** @file Small models as files in a folder of their own, for runs of the command line. */
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import onnxProto, { type onnx as types } from "onnx-proto";
import { configNames } from "../../src/files/find-config.ts";

const { onnx } = onnxProto;

export interface Folder extends Disposable {
  readonly path: string;
  /** Writes a file (its folders too) and returns its path. */
  write(name: string, content: string | Uint8Array): string;
}

export function temporaryFolder(): Folder {
  refuseProjectAround(tmpdir());
  // Resolved, because reports show paths relative to the folder as the system names it.
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "tc-lint-")));
  return {
    path: folder,
    write(name, content) {
      const file = path.join(folder, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A package or a configuration up there would be everybody's project, and change what tests of projects see. */
function refuseProjectAround(folder: string): void {
  const found = ["package.json", ...configNames]
    .map((name) => path.join(folder, name))
    .find((file) => existsSync(file));
  if (found !== undefined)
    throw new Error(`${found} is above the folders of tests: remove it, or set TMPDIR`);
  if (path.dirname(folder) !== folder) refuseProjectAround(path.dirname(folder));
}

export interface HeadOptions {
  readonly k?: number;
  readonly n?: number;
  /** First axis of the input: a symbol or a size. */
  readonly rows?: string | number;
  readonly nodeName?: string;
  /** metadata_props of the model. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly elemType?: number;
}

/** logits = MatMul(hidden, w) in half precision: one product, misaligned unless n and k say otherwise. */
export function headModel(options: HeadOptions = {}): types.IModelProto {
  const {
    k = 4096,
    n = 50257,
    rows = 4096,
    nodeName = "/lm_head/MatMul",
    elemType = 10,
    metadata = {},
  } = options;
  const first = typeof rows === "number" ? { dimValue: rows } : { dimParam: rows };
  const value = (name: string, last: number): types.IValueInfoProto => ({
    name,
    type: { tensorType: { elemType, shape: { dim: [first, { dimValue: last }] } } },
  });
  return {
    irVersion: 10,
    producerName: "test",
    opsetImport: [{ domain: "", version: 17 }],
    graph: {
      name: "g",
      node: [{ name: nodeName, opType: "MatMul", input: ["hidden", "w"], output: ["logits"] }],
      input: [value("hidden", k)],
      output: [value("logits", n)],
      initializer: [
        {
          name: "w",
          dims: [k, n],
          dataType: elemType,
          dataLocation: onnx.TensorProto.DataLocation.EXTERNAL,
          externalData: [{ key: "location", value: "head.weights" }],
        },
      ],
    },
    metadataProps: Object.entries(metadata).map(([key, text]) => ({ key, value: text })),
  };
}

export function bytesOf(model: types.IModelProto): Uint8Array {
  return onnx.ModelProto.encode(model).finish();
}

/** x + x: no product at all. */
export function cleanModel(): types.IModelProto {
  const value = (name: string): types.IValueInfoProto => ({
    name,
    type: { tensorType: { elemType: 10, shape: { dim: [{ dimValue: 8 }, { dimValue: 8 }] } } },
  });
  return {
    irVersion: 8,
    opsetImport: [{ domain: "", version: 17 }],
    graph: {
      name: "g",
      node: [{ name: "twice", opType: "Add", input: ["x", "x"], output: ["y"] }],
      input: [value("x")],
      output: [value("y")],
    },
  };
}

export const lfsPointer = `version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 102400
`;
