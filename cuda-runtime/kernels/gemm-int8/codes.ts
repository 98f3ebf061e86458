/** @file Codes of a byte, and what they stand for. */
import type { StorageType } from "../../ir/storage.ts";

/** Codes of a byte with one scale and zero point, both known while planning. */
export interface CodeNumbers {
  readonly type: "int8" | "uint8";
  readonly scale: number;
  readonly zero: number;
}

export function isCodeType(type: string | undefined): type is CodeNumbers["type"] {
  return type === "int8" || type === "uint8";
}

/** Codes of the type, the least and the largest. */
export function codeRange(type: StorageType): readonly [number, number] {
  return type === "uint8" ? [0, 255] : [-128, 127];
}

export function isSameCodes(a: CodeNumbers | undefined, b: CodeNumbers | undefined): boolean {
  return a?.scale === b?.scale && a?.zero === b?.zero && a?.type === b?.type;
}
