/**
 * @file A kernel's parameter struct, written once: planners fill it in by name, and `npm run kernels` declares it for the
 * kernels (docs/adr/0017-parameters-written-once.md). Fields lie as a C++ compiler lays them out.
 */

import {
  checked32,
  type ParamBlock,
  type PointerSlot,
  type TensorMap,
  type TensorMapSlot,
  tensorMapAlignment,
  tensorMapBytes,
} from "./params.ts";
import type { View } from "./view.ts";

/** What a struct is written to. */
interface ParamSink {
  readonly data: DataView;
  readonly pointers: PointerSlot[];
  readonly tensorMaps: TensorMapSlot[];
}

/** One kind of field: its C++ type, and how a value of it is written. */
export interface Field<Value> {
  /** In C++; of an array its elements'. */
  readonly type: string;
  /** Extents of an array, the outermost first; empty for a single one. */
  readonly extents: readonly number[];
  readonly bytes: number;
  readonly alignment: number;
  /** What the declaration says about it. */
  readonly note: string | undefined;
  /** The struct that it is one of. */
  readonly struct?: StructLayout | undefined;
  /** Throws OperandError for a number that it does not hold. */
  write(to: ParamSink, at: number, value: Value): void;
}

/** A field with its place in the struct. */
interface Member extends Pick<Field<never>, "type" | "extents" | "bytes" | "note" | "struct"> {
  readonly name: string;
  readonly offset: number;
}

/** What a declaration needs to know of a struct. */
export class StructLayout {
  /** In C++. */
  readonly name: string;
  readonly note: string;
  readonly members: readonly Member[];
  readonly bytes: number;
  readonly alignment: number;

  constructor(name: string, note: string, fields: ReadonlyMap<string, Field<never>>) {
    this.name = name;
    this.note = note;
    const members: Member[] = [];
    let end = 0;
    let alignment = 1;
    for (const [field, { type, extents, bytes, note, struct, ...layout }] of fields) {
      const offset = roundedUp(end, layout.alignment);
      members.push({ name: field, type, extents, bytes, note, struct, offset });
      end = offset + bytes;
      alignment = Math.max(alignment, layout.alignment);
    }
    this.members = members;
    this.alignment = alignment;
    this.bytes = roundedUp(end, alignment);
  }
}

type Fields<Values> = { readonly [Name in keyof Values]: Field<Values[Name]> };

/** A struct whose fields take these values. */
export class StructTable<Values extends object> extends StructLayout {
  readonly #fields: Fields<Values>;
  readonly #places: readonly (readonly [name: keyof Values, offset: number])[];

  /**
   * @param name In C++.
   * @param note What the declaration says about the struct.
   * @param fields In the order of the struct.
   */
  constructor(name: string, note: string, fields: Fields<Values>) {
    const names = namesOf(fields);
    super(name, note, new Map(names.map((field) => [String(field), fields[field]])));
    this.#fields = fields;
    this.#places = names.map((field, index) => [field, this.members[index]?.offset ?? 0]);
  }

  write(to: ParamSink, at: number, values: Values): void {
    for (const [name, offset] of this.#places) this.#fields[name].write(to, at + offset, values[name]);
  }
}

/** The values that a table's struct takes, by name. */
export type ValuesOf<Table> = Table extends StructTable<infer Values> ? Values : never;

/** A kernel's parameter: each field of the table by its name. Throws OperandError for a number that a field does not hold. */
export function writeParams<Values extends object>(
  table: StructTable<Values>,
  values: NoInfer<Values>,
): ParamBlock {
  const bytes = new Uint8Array(table.bytes);
  const pointers: PointerSlot[] = [];
  const tensorMaps: TensorMapSlot[] = [];
  table.write({ data: new DataView(bytes.buffer), pointers, tensorMaps }, 0, values);
  return { bytes, pointers, tensorMaps: tensorMaps.length > 0 ? tensorMaps : undefined };
}

/** `to` as C++ has it: "const void". The address of the view's first element; null for undefined. */
export function pointer(to: string, note?: string): Field<View | undefined> {
  const write = ({ pointers }: ParamSink, at: number, view: View | undefined) => {
    if (view !== undefined) pointers.push({ at, view });
  };
  return single(`${to}*`, 8, note, write);
}

export function i32(note?: string): Field<number> {
  return single("int", 4, note, writeI32);
}

/** 32 bits, given as a signed or as an unsigned number. */
export function u32(note?: string): Field<number> {
  return single("unsigned", 4, note, ({ data }, at, value) => {
    const isHigh = value >= 2 ** 31 && value < 2 ** 32;
    data.setInt32(at, checked32(isHigh ? value - 2 ** 32 : value), true);
  });
}

export function i64(note?: string): Field<number> {
  return single("int64_t", 8, note, ({ data }, at, value) => data.setBigInt64(at, BigInt(value), true));
}

export function f32(note?: string): Field<number> {
  return single("float", 4, note, ({ data }, at, value) => data.setFloat32(at, value, true));
}

/** An int that is 1 or 0. */
export function flag(note?: string): Field<boolean> {
  return single("int", 4, note, (to, at, value) => writeI32(to, at, value ? 1 : 0));
}

/** A descriptor for TMA; zeros for undefined. */
export function tensorMap(note?: string): Field<TensorMap | undefined> {
  const write = ({ tensorMaps }: ParamSink, at: number, map: TensorMap | undefined) => {
    if (map !== undefined) tensorMaps.push({ ...map, at });
  };
  return { ...single("TensorMap", tensorMapBytes, note, write), alignment: tensorMapAlignment };
}

/** A struct within. */
export function nested<Values extends object>(table: StructTable<Values>, note?: string): Field<Values> {
  return {
    ...single(table.name, table.bytes, note, (to, at, values: Values) => table.write(to, at, values)),
    alignment: table.alignment,
    struct: table,
  };
}

interface ListOptions {
  /** Stands in the places that a shorter list leaves; without it, a list has all elements. */
  readonly fill?: number;
  readonly note?: string;
}

export function i32s(count: number, { fill, note }: ListOptions = {}): Field<readonly number[]> {
  return list(i32(note), [count], fill);
}

export function u32s(count: number, { fill, note }: ListOptions = {}): Field<readonly number[]> {
  return list(u32(note), [count], fill);
}

/** An array; of several axes, its elements one after the other, the last axis fastest. */
export function list<Value>(
  each: Field<Value>,
  extents: readonly number[],
  fill?: Value,
): Field<readonly Value[]> {
  const count = extents.reduce((product, extent) => product * extent, 1);
  const write = (to: ParamSink, at: number, values: readonly Value[]) => {
    const isFull = values.length === count || (fill !== undefined && values.length < count);
    if (!isFull) throw new RangeError(`tc-lint bug: ${values.length} values for ${count} fields`);
    for (const [index, value] of values.entries()) each.write(to, at + index * each.bytes, value);
    if (fill === undefined) return;
    for (let index = values.length; index < count; index++) each.write(to, at + index * each.bytes, fill);
  };
  return { ...each, extents: [...extents, ...each.extents], bytes: count * each.bytes, write };
}

function single<Value>(
  type: string,
  bytes: number,
  note: string | undefined,
  write: Field<Value>["write"],
): Field<Value> {
  return { type, extents: [], bytes, alignment: bytes, note, write };
}

function writeI32({ data }: ParamSink, at: number, value: number): void {
  data.setInt32(at, checked32(value), true);
}

/** In the order that they were written in: no name of a field is a number. */
function namesOf<Values extends object>(fields: Fields<Values>): (keyof Values)[] {
  return Object.keys(fields).filter((name): name is Extract<keyof Values, string> => name in fields);
}

function roundedUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}
