/** @file The value of an attribute, from the fields of its AttributeProto. */
import type { AttributeValue, Graph, TensorRef } from "../ir/model.ts";
import type { Cursor } from "../wire/cursor.ts";
import { exactly } from "./compact.ts";
import { attributeFields } from "./fields.ts";

/** The fields that were there. */
export interface AttributeDraft {
  name: string;
  code: number;
  reference: string;
  number: number;
  text?: string | undefined;
  /** Of a text that is left unread. */
  unreadBytes?: number | undefined;
  tensor?: TensorRef;
  graph?: Graph;
  floats?: number[];
  integers?: number[];
  strings?: string[];
  graphs?: Graph[];
  /** The value field seen last: tells the type where an old file leaves `type` out. */
  seen: number;
}

/** A longer one is no text that an operator asks for. */
export const maxTextBytes = 1 << 16;

/** String attributes are bytes by the schema (a serialized engine may sit in one): long or non-text ones stay unread. */
export function lenientText(cursor: Cursor): string | undefined {
  return cursor.length > maxTextBytes ? undefined : cursor.textOrUndefined();
}

/** AttributeProto.AttributeType to the field that holds its value. */
const fieldOfCode: ReadonlyMap<number, number> = new Map([
  [1, attributeFields.f],
  [2, attributeFields.i],
  [3, attributeFields.s],
  [4, attributeFields.t],
  [5, attributeFields.g],
  [6, attributeFields.floats],
  [7, attributeFields.ints],
  [8, attributeFields.strings],
  [10, attributeFields.graphs],
]);

export function attributeValue(draft: AttributeDraft): AttributeValue {
  if (draft.reference !== "") return { type: "reference", to: draft.reference };
  const other: AttributeValue = { type: "other", code: draft.code };
  switch (draft.code === 0 ? draft.seen : fieldOfCode.get(draft.code)) {
    case attributeFields.f:
      return { type: "float", value: draft.number };
    case attributeFields.i:
      return { type: "int", value: draft.number };
    case attributeFields.s:
      return draft.text === undefined && draft.seen !== 0
        ? { ...other, ...(draft.unreadBytes === undefined ? {} : { bytes: draft.unreadBytes }) }
        : { type: "string", value: draft.text ?? "" };
    case attributeFields.t:
      return draft.tensor === undefined ? other : { type: "tensor", tensor: draft.tensor };
    case attributeFields.g:
      return draft.graph === undefined ? other : { type: "graph", graph: draft.graph };
    case attributeFields.floats:
      return { type: "floats", values: exactly(draft.floats) };
    case attributeFields.ints:
      return { type: "ints", values: exactly(draft.integers) };
    case attributeFields.strings:
      return { type: "strings", values: exactly(draft.strings) };
    case attributeFields.graphs:
      return { type: "graphs", graphs: exactly(draft.graphs) };
    default:
      return other;
  }
}
