/** @file External data: what an entry may say. A model is untrusted: external-file.ts says which file it may lead to. */
import type { TensorData } from "../ir/model.ts";
import { intern } from "./compact.ts";

export interface ExternalEntry {
  readonly key: string;
  readonly value: string;
}

/** Keys of onnx.proto's external_data, and those ONNX Runtime adds for prepacked weights. */
const knownKeys = /^(location|offset|length|checksum|basepath|prepacked_\d+)$/;
/** ONNX Runtime marks tensors that live in its own memory with this location. */
const memoryMarker = "_ORT_MEM_ADDR_";

type Fail = (code: string, what: string) => Error;

/** The entries of one tensor, checked. `expected` is the size its dims call for, in bytes. */
export function externalData(
  entries: readonly ExternalEntry[],
  expected: number | undefined,
  fail: Fail,
): TensorData {
  const values = new Map<string, string>();
  for (const { key, value } of entries) {
    if (!knownKeys.test(key)) throw fail("external-key", `external data has the unknown key "${key}"`);
    if (values.has(key)) throw fail("external-key", `external data gives "${key}" twice`);
    values.set(key, value);
  }
  const location = values.get("location") ?? "";
  checkLocation(location, fail);
  const offset = wholeNumber("offset", values.get("offset"), fail) ?? 0;
  const length = wholeNumber("length", values.get("length"), fail);
  if (length !== undefined && expected !== undefined && length !== expected) {
    throw fail("external-length", `external length is ${length} bytes, expected ${expected} for its dims`);
  }
  return { kind: "external", location: intern(location), offset, length: length ?? expected };
}

function wholeNumber(key: string, text: string | undefined, fail: Fail): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) {
    throw fail("external-number", `external ${key} is "${text}", expected a whole number of bytes`);
  }
  return value;
}

function checkLocation(location: string, fail: Fail): void {
  const refuse = (why: string) => fail("external-path", `external data location "${location}" ${why}`);
  if (location === "") throw fail("external-path", "external data has no location");
  if (location.includes("\0")) throw refuse("holds a NUL byte");
  if (location.includes(memoryMarker)) throw refuse("points into another program's memory");
  if (/^([/\\]|[A-Za-z]:)/.test(location))
    throw refuse("is absolute, expected a path inside the model's folder");
  if (location.split(/[/\\]/).includes("..")) throw refuse("leaves the model's folder");
}
