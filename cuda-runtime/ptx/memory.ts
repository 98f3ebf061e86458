/** @file Loads and stores of several neighbouring elements, and what they convert, as PTX. */
import { pushAll } from "../../src/ir/lists.ts";
import { scalarOf } from "../ir/scalar.ts";
import { bytesOfType, type StorageType, storageTypes } from "../ir/storage.ts";
import type { Assembler, Operand, RegisterClass } from "./assembler.ts";
import { bfloatToFloat, emitConvert, floatToBfloat, floatToHalf, halfToFloat } from "./convert.ts";

/** Elements in a row, in registers as they were loaded. */
export interface LoadedRow {
  /** The element in its own register type (`scalarOf`). */
  element(lane: number): Operand;
}

interface UnitFormat {
  readonly register: RegisterClass;
  readonly type: string;
  readonly bytes: number;
}

/** What a register of a load or a store holds: one element, or as many small ones as fill 4 bytes. */
function unitOf(type: StorageType, accessBytes: number): UnitFormat {
  const bytes = bytesOfType(type);
  if (type === "float32") return { register: "f", type: "f32", bytes: 4 };
  if (type === "float64") return { register: "d", type: "f64", bytes: 8 };
  if (bytes === 8) return { register: "q", type: "b64", bytes: 8 };
  if (accessBytes >= 4) return { register: "r", type: "b32", bytes: 4 };
  return bytes === 2 ? { register: "h", type: "b16", bytes: 2 } : { register: "r", type: "u8", bytes: 1 };
}

/** Widest access that the row's size and its alignment allow. */
export function accessBytesOf(type: StorageType, width: number, alignment: number): number {
  const bytes = bytesOfType(type);
  const row = bytes * width;
  let access = Math.min(16, alignment, row & -row);
  // Two bytes at a time need no path of their own.
  if (bytes === 1 && access === 2) access = 1;
  return Math.max(access, bytes);
}

interface Access {
  readonly type: StorageType;
  readonly width: number;
  readonly accessBytes: number;
}

/** One access after the other: its byte offset and how many units it has. */
function* accesses({ type, width, accessBytes }: Access, unit: UnitFormat) {
  const total = width * bytesOfType(type);
  for (let at = 0; at < total; at += accessBytes) yield { at, units: accessBytes / unit.bytes };
}

function vectorSuffix(units: number): string {
  return units === 1 ? "" : `.v${units}`;
}

function list(operands: readonly Operand[]): string {
  return operands.length === 1 ? (operands[0] ?? "") : `{${operands.join(", ")}}`;
}

export function emitLoad(assembler: Assembler, address: Operand, access: Access): LoadedRow {
  const unit = unitOf(access.type, access.accessBytes);
  const registers: Operand[] = [];
  for (const { at, units } of accesses(access, unit)) {
    const into = Array.from({ length: units }, () => assembler.register(unit.register));
    assembler.line(`ld.global${vectorSuffix(units)}.${unit.type} ${list(into)}, [${address}+${at}];`);
    pushAll(registers, into);
  }
  return rowOf(assembler, access.type, unit, registers);
}

/** Elements far from each other, one access each. */
export function emitGather(
  assembler: Assembler,
  type: StorageType,
  addresses: readonly Operand[],
): LoadedRow {
  const rows = addresses.map((address) =>
    emitLoad(assembler, address, { type, width: 1, accessBytes: bytesOfType(type) }),
  );
  return { element: (lane) => rows[lane]?.element(0) ?? "" };
}

function rowOf(
  assembler: Assembler,
  type: StorageType,
  unit: UnitFormat,
  registers: readonly Operand[],
): LoadedRow {
  const perUnit = unit.bytes / bytesOfType(type);
  const halves = new Map<number, readonly [Operand, Operand]>();
  const halvesOf = (at: number): readonly [Operand, Operand] => {
    const known = halves.get(at);
    if (known !== undefined) return known;
    const pair = [assembler.register("h"), assembler.register("h")] as const;
    assembler.line(`mov.b32 {${pair[0]}, ${pair[1]}}, ${registers[at] ?? ""};`);
    halves.set(at, pair);
    return pair;
  };
  return {
    element(lane) {
      const at = Math.floor(lane / perUnit);
      const within = lane % perUnit;
      const register = registers[at] ?? "";
      if (bytesOfType(type) === 1) return decodeByte(assembler, type, register, within);
      const raw = unit.register === "r" && perUnit === 2 ? (halvesOf(at)[within] ?? "") : register;
      return bytesOfType(type) === 2 ? decodeHalf(assembler, type, raw) : raw;
    },
  };
}

function decodeByte(assembler: Assembler, type: StorageType, word: Operand, within: number): Operand {
  const sign = storageTypes[type].kind === "int" ? "s" : "u";
  const value = assembler.op("r", `bfe.${sign}32`, word, String(8 * within), "8");
  return type === "bool" ? assembler.op("p", "setp.ne.s32", value, "0") : value;
}

function decodeHalf(assembler: Assembler, type: StorageType, raw: Operand): Operand {
  switch (type) {
    case "float16":
      return halfToFloat(assembler, raw);
    case "bfloat16":
      return bfloatToFloat(assembler, raw);
    case "int16":
      return assembler.op("r", "cvt.s32.s16", raw);
    default:
      return assembler.op("r", "cvt.u32.u16", raw);
  }
}

/** Elements in the register type of `access.type`; stores where the predicate holds, or always. */
export function emitStore(
  assembler: Assembler,
  address: Operand,
  access: Access,
  elements: readonly Operand[],
  predicate: Operand | undefined,
): void {
  const unit = unitOf(access.type, access.accessBytes);
  const perUnit = unit.bytes / bytesOfType(access.type);
  const registers: Operand[] = [];
  for (let at = 0; at < access.width; at += perUnit) {
    registers.push(encodeUnit(assembler, access.type, unit, elements.slice(at, at + perUnit)));
  }
  let next = 0;
  const guard = predicate === undefined ? "" : `@${predicate} `;
  for (const { at, units } of accesses(access, unit)) {
    const from = registers.slice(next, next + units);
    next += units;
    assembler.line(`${guard}st.global${vectorSuffix(units)}.${unit.type} [${address}+${at}], ${list(from)};`);
  }
}

function encodeUnit(
  assembler: Assembler,
  type: StorageType,
  unit: UnitFormat,
  elements: readonly Operand[],
): Operand {
  const [first = "", second = ""] = elements;
  if (bytesOfType(type) > 2) return first;
  if (bytesOfType(type) === 1) return packBytes(assembler, type, elements);
  if (unit.register === "h") return encodeHalf(assembler, type, first);
  if (assembler.features.packedConversion && (type === "float16" || type === "bfloat16")) {
    const name = type === "float16" ? "f16x2" : "bf16x2";
    return assembler.op("r", `cvt.rn.${name}.f32`, second, first);
  }
  const low = encodeHalf(assembler, type, first);
  return assembler.op("r", "mov.b32", `{${low}, ${encodeHalf(assembler, type, second)}}`);
}

function encodeHalf(assembler: Assembler, type: StorageType, element: Operand): Operand {
  if (type === "float16") return floatToHalf(assembler, element);
  if (type === "bfloat16") return floatToBfloat(assembler, element);
  return assembler.op("h", "cvt.u16.u32", element);
}

function packBytes(assembler: Assembler, type: StorageType, elements: readonly Operand[]): Operand {
  const bytes = elements.map((element) =>
    type === "bool" ? emitConvert(assembler, "bool", "u32", element) : element,
  );
  const [first = "", ...rest] = bytes;
  let word = rest.length === 0 ? first : assembler.op("r", "and.b32", first, "255");
  for (const [index, byte] of rest.entries()) {
    word = assembler.op("r", "bfi.b32", byte, word, String(8 * (index + 1)), "8");
  }
  return word;
}

/** An element converted from the register type of an expression to that of its storage. */
export function toStorage(
  assembler: Assembler,
  from: Parameters<typeof emitConvert>[1],
  type: StorageType,
  element: Operand,
): Operand {
  return emitConvert(assembler, from, scalarOf(type), element);
}
