/** @file TypeProto and ValueInfoProto to `ValueType`. */
import { type Dim, symbol, unknownDim } from "../ir/dim.ts";
import { dtypeOfCode } from "../ir/dtype.ts";
import type { ValueType } from "../ir/model.ts";
import type { Cursor } from "../wire/cursor.ts";
import { dimFields, shapeFields, tensorTypeFields, typeFields, valueInfoFields } from "./fields.ts";
import { maxRank } from "./tensor.ts";

/** Sequences of sequences and the like; deeper types are not in use anywhere. */
const maxTypeDepth = 16;

export interface ValueInfo {
  readonly name: string;
  readonly type: ValueType | undefined;
}

/**
 * What an axis without a size stands for: on an input, a symbol that `--dim` can bind; elsewhere, a size that the
 * exporter did not know.
 */
export type Anonymous = "symbol" | "unknown";

/** The current field of `cursor` as a ValueInfoProto. */
export function decodeValueInfo(cursor: Cursor, anonymous: Anonymous): ValueInfo {
  let name = "";
  let type: ValueType | undefined;
  const outer = cursor.enter();
  while (cursor.next()) {
    if (cursor.field === valueInfoFields.name) name = cursor.text();
    else if (cursor.field === valueInfoFields.type) type = decodeType(cursor, 0, { name, anonymous });
  }
  cursor.leave(outer);
  return { name, type };
}

interface Owner {
  readonly name: string;
  readonly anonymous: Anonymous;
}

function decodeType(cursor: Cursor, depth: number, owner: Owner): ValueType | undefined {
  if (depth > maxTypeDepth)
    throw cursor.error("too-deep", `the type of "${owner.name}" nests beyond ${maxTypeDepth} levels`);
  let type: ValueType | undefined;
  const outer = cursor.enter();
  while (cursor.next()) {
    switch (cursor.field) {
      case typeFields.tensor:
        type = decodeTensorType(cursor, owner);
        break;
      case typeFields.sequence:
      case typeFields.optional: {
        const kind = cursor.field === typeFields.sequence ? "sequence" : "optional";
        type = { kind, element: decodeElementType(cursor, depth, owner) };
        break;
      }
      case typeFields.map:
        type = { kind: "map" };
        break;
      case typeFields.sparse:
        type = { kind: "sparse" };
        break;
      case typeFields.opaque:
        type = { kind: "opaque" };
        break;
    }
  }
  cursor.leave(outer);
  return type;
}

/** Sequence and Optional both hold their element type in field 1. */
function decodeElementType(cursor: Cursor, depth: number, owner: Owner): ValueType | undefined {
  let element: ValueType | undefined;
  const outer = cursor.enter();
  while (cursor.next()) if (cursor.field === 1) element = decodeType(cursor, depth + 1, owner);
  cursor.leave(outer);
  return element;
}

function decodeTensorType(cursor: Cursor, owner: Owner): ValueType {
  let code = 0;
  let shape: Dim[] | undefined;
  const outer = cursor.enter();
  while (cursor.next()) {
    if (cursor.field === tensorTypeFields.elementType) code = cursor.int32();
    else if (cursor.field === tensorTypeFields.shape) shape = decodeShape(cursor, owner);
  }
  cursor.leave(outer);
  const dtype = dtypeOfCode(code);
  // 0 is one that the file leaves open.
  const unknown = dtype === undefined && code !== 0 ? { unknownCode: code } : {};
  return { kind: "tensor", dtype, shape, ...unknown };
}

function decodeShape(cursor: Cursor, owner: Owner): Dim[] {
  const shape: Dim[] = [];
  const outer = cursor.enter();
  while (cursor.next()) {
    if (cursor.field !== shapeFields.dim) continue;
    if (shape.length === maxRank) throw cursor.error("bad-rank", `"${owner.name}" has over ${maxRank} axes`);
    shape.push(decodeDim(cursor, owner, shape.length));
  }
  cursor.leave(outer);
  return shape;
}

function decodeDim(cursor: Cursor, { name, anonymous }: Owner, axis: number): Dim {
  let dim: Dim | undefined;
  const outer = cursor.enter();
  while (cursor.next()) {
    if (cursor.field === dimFields.value) {
      const value = cursor.integer();
      if (!Number.isSafeInteger(value))
        throw cursor.error("bad-dim", `axis ${axis} of "${name}" has size ${cursor.exactInteger()}`);
      // -1 is how some exporters spell "unknown" in a declaration.
      if (value >= 0) dim = value;
    } else if (cursor.field === dimFields.parameter) {
      const parameter = cursor.text();
      if (parameter !== "") dim = symbol(parameter);
    }
  }
  cursor.leave(outer);
  return dim ?? (anonymous === "symbol" ? symbol(`${name}_d${axis}`) : unknownDim());
}
