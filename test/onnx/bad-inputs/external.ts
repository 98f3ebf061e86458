/** @file Cases 31 to 45: external data that leads astray. Case 37, a swap between check and open, is in external.test.ts. */
import { linkSync, mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { float, modelBytes, node } from "../build.ts";
import { type BadInput, type Expected, file, put } from "./case.ts";

type Entries = readonly (readonly [key: string, value: string])[];

/** A 2×2 initializer "w" whose elements are elsewhere; more tensors may follow. */
function external(...tensors: readonly Entries[]): Uint8Array {
  const initializer = tensors.map((entries, index) => ({
    name: index === 0 ? "w" : `w${index}`,
    dims: [2, 2],
    dataType: float,
    dataLocation: 1,
    externalData: entries.map(([key, value]) => ({ key, value })),
  }));
  return modelBytes({ node: [node("Identity", ["w"], ["y"])], output: [{ name: "y" }], initializer });
}

function located(
  number: number,
  title: string,
  location: string,
  expect: Expected = { error: "external-path" },
): BadInput {
  return file(number, title, expect, () => external([["location", location]]));
}

/** A model beside its data, with these entries. */
function entries(number: number, title: string, expect: Expected, ...tensors: readonly Entries[]): BadInput {
  return {
    number,
    title,
    expect,
    write(folder) {
      put(folder, "data.bin", Buffer.alloc(32));
      return put(folder, "model.onnx", external(...tensors));
    },
  };
}

/** A model in folder/model; `arrange` puts its data, "data.bin", where it should or should not be. */
function arranged(
  number: number,
  title: string,
  expect: Expected,
  location: string,
  arrange: (folder: string) => void,
): BadInput {
  return {
    number,
    title,
    expect,
    write(folder) {
      mkdirSync(path.join(folder, "model"));
      mkdirSync(path.join(folder, "secret"));
      put(folder, "secret/data.bin", Buffer.alloc(16));
      arrange(folder);
      return put(folder, "model/model.onnx", external([["location", location]]));
    },
  };
}

const here = ["location", "data.bin"] as const;

export const externalCases: readonly BadInput[] = [
  located(31, "..", "../data.bin"),
  located(31, ".. written for Windows", "..\\data.bin"),
  located(32, "an absolute path", "/etc/hostname"),
  located(32, "a drive", "C:\\data.bin"),
  located(32, "a network share", "\\\\server\\share\\data.bin"),
  located(33, "a way out behind a way in", "a/../../data.bin"),
  arranged(34, "a symbolic link out of the folder", { error: "external-path" }, "data.bin", (folder) =>
    symlinkSync("../secret/data.bin", path.join(folder, "model/data.bin")),
  ),
  arranged(35, "a folder that is a link out", { error: "external-path" }, "sub/data.bin", (folder) =>
    symlinkSync("../secret", path.join(folder, "model/sub")),
  ),
  arranged(36, "a hard link to a file elsewhere", { error: "external-path" }, "data.bin", (folder) =>
    linkSync(path.join(folder, "secret/data.bin"), path.join(folder, "model/data.bin")),
  ),
  located(38, "a missing file", "absent.bin", { notice: "weights-missing" }),
  entries(39, "a length past the end", { error: "external-truncated" }, [here, ["offset", "24"]]),
  entries(39, "an offset past the end", { error: "external-truncated" }, [
    here,
    ["offset", "4096"],
    ["length", "16"],
  ]),
  entries(39, "a length that the dims do not call for", { error: "external-length" }, [
    here,
    ["length", "32"],
  ]),
  ...["-1", "NaN", "1e30", "0x10", "", "99999999999999999999"].map((value) =>
    entries(40, `a length of "${value}"`, { error: "external-number" }, [here, ["length", value]]),
  ),
  entries(40, "an offset of -1", { error: "external-number" }, [here, ["offset", "-1"]]),
  entries(41, "the key __proto__", { error: "external-key" }, [here, ["__proto__", "x"]]),
  entries(42, "two locations", { error: "external-key" }, [here, ["location", "/etc/hostname"]]),
  entries(42, "no location", { error: "external-path" }, [["offset", "0"]]),
  entries(43, "ranges that overlap", "fine", [here, ["offset", "0"]], [here, ["offset", "8"]]),
  {
    number: 44,
    title: "Hugging Face's cache: model and data are links into a folder of blobs",
    expect: "fine",
    write(folder) {
      mkdirSync(path.join(folder, "blobs"));
      mkdirSync(path.join(folder, "snapshots/0123/onnx"), { recursive: true });
      put(folder, "blobs/aaaa", external([["location", "model.onnx_data"]]));
      put(folder, "blobs/bbbb", Buffer.alloc(16));
      symlinkSync("../../../blobs/aaaa", path.join(folder, "snapshots/0123/onnx/model.onnx"));
      symlinkSync("../../../blobs/bbbb", path.join(folder, "snapshots/0123/onnx/model.onnx_data"));
      return path.join(folder, "snapshots/0123/onnx/model.onnx");
    },
  },
  located(45, "ONNX Runtime's marker of memory", "*/_ORT_MEM_ADDR_/*"),
];
