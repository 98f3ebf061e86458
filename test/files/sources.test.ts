/** Where a line of Python lies that an exporter noted on another machine. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { Repository, type SourcePlaces } from "../../src/files/repository.ts";
import { type Folder, temporaryFolder } from "../cli/models.ts";

let folder: Folder;
beforeEach(() => {
  folder = temporaryFolder();
  folder.write(".git/HEAD", "");
  folder.write("python/net/block.py", "");
  folder.write("transformers/models/gpt2.py", "");
});
afterEach(() => folder[Symbol.dispose]());

const placeOf = (file: string, places: SourcePlaces = {}) =>
  new Repository(folder.path, undefined, places).sourceOf(file);

test("a relative path is below the source root", () => {
  expect(placeOf("net/block.py")).toBeUndefined();
  expect(placeOf("net/block.py", { root: "python" })).toBe("python/net/block.py");
});

test("a beginning is mapped, whatever slashes either machine has, and only as a whole folder", () => {
  const mapping = [["C:\\build\\src", "python"]] as const;
  expect(placeOf("C:\\build\\src\\net\\block.py", { mapping })).toBe("python/net/block.py");
  expect(placeOf("/build/source/net/block.py", { mapping: [["/build/so", "python"]] })).toBeUndefined();
});

test("what is installed is nobody's line, also where its path begins with site-packages", () => {
  expect(placeOf("/x/transformers/models/gpt2.py")).toBe("transformers/models/gpt2.py");
  expect(placeOf("site-packages/transformers/models/gpt2.py")).toBeUndefined();
  expect(placeOf("/usr/lib/python3/dist-packages/transformers/models/gpt2.py")).toBeUndefined();
});
