/** @file What a forge answers, read without trust in its shape. */
import { ForgeError } from "./http.ts";

export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

/** Throws ForgeError where it is none. */
export function idOf(fields: Fields): number {
  const { id } = fields;
  if (typeof id === "number" && Number.isSafeInteger(id)) return id;
  throw new ForgeError("refused", "an entry of the list has no number");
}

export function textOf(fields: Fields, key: string): string {
  const value = fields[key];
  return typeof value === "string" ? value : "";
}
