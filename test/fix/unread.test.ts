/** What is not read is as absent where it is read, and nowhere else: lint says what half precision makes of a model without its weights. */
import { expect, test } from "vitest";
import { type Reading, readingUpTo } from "../../src/fix/unread.ts";
import type { TensorRef } from "../../src/ir/model.ts";
import { MemoryBytes } from "../../src/passes/tensors.ts";

const opened: string[] = [];
const reading: Reading = { mostBytes: 64 };
const open = readingUpTo(reading, ({ name }) => {
  opened.push(name);
  return new MemoryBytes(new Uint8Array(64));
});

const span = { offset: 0, length: 0 };

function tensor(name: string, elements: number): TensorRef {
  return { name, dtype: "float32", dtypeCode: 1, dims: [elements], data: { kind: "raw", span }, span };
}

test("a tensor of as many bytes is read", () => {
  open(tensor("small", 16)).readInto(0, new Uint8Array(64));
  expect(opened).toEqual(["small"]);
});

test("a larger one has its size, and fails where it is read as weights that are not there", () => {
  const large = open(tensor("large", 17));
  expect(large.size).toBe(68);
  expect(() => large.readInto(0, new Uint8Array(4))).toThrow(
    expect.objectContaining({ code: "weights-missing" }),
  );
  expect(opened).not.toContain("large");
});

test("how much is read is what is said when it is read", () => {
  reading.mostBytes = 68;
  open(tensor("larger", 17)).readInto(0, new Uint8Array(64));
  expect(opened).toContain("larger");
});
