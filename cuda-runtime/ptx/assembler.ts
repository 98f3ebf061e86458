/** @file Lines of PTX in single assignment: registers are numbered as they are made, one class each. */
import type { Machine } from "../../src/hardware/machine.ts";
import type { ScalarType } from "../ir/expr.ts";

/** Predicate, 16, 32 and 64 bits, and floats. */
export type RegisterClass = "p" | "h" | "r" | "q" | "f" | "d";

/** A register's name, or an immediate. */
export type Operand = string;

const declarations: Readonly<Record<RegisterClass, string>> = {
  p: ".pred",
  h: ".b16",
  r: ".b32",
  q: ".b64",
  f: ".f32",
  d: ".f64",
};

const classes: Readonly<Record<ScalarType, RegisterClass>> = {
  f32: "f",
  f64: "d",
  i32: "r",
  u32: "r",
  i64: "q",
  u64: "q",
  bool: "p",
};

export function registerClassOf(type: ScalarType): RegisterClass {
  return classes[type];
}

/** A table of doubles in constant memory. */
interface ConstantTable {
  readonly name: string;
  readonly values: readonly number[];
}

export class Assembler {
  readonly features: Machine["features"];
  readonly #ptx: Machine["ptx"];
  readonly #lines: string[] = [];
  readonly #counts: Record<RegisterClass, number> = { p: 0, h: 0, r: 0, q: 0, f: 0, d: 0 };
  readonly #tables: ConstantTable[] = [];
  #labels = 0;

  constructor({ features, ptx }: Pick<Machine, "features" | "ptx">) {
    this.features = features;
    this.#ptx = ptx;
  }

  register(kind: RegisterClass): Operand {
    return `%${kind}${this.#counts[kind]++}`;
  }

  /** One instruction into a new register of the class. */
  op(kind: RegisterClass, mnemonic: string, ...operands: readonly Operand[]): Operand {
    const result = this.register(kind);
    this.line(`${mnemonic} ${[result, ...operands].join(", ")};`);
    return result;
  }

  line(text: string): void {
    this.#lines.push(`  ${text}`);
  }

  label(): string {
    return `L${this.#labels++}`;
  }

  place(label: string): void {
    this.#lines.push(`${label}:`);
  }

  /** Name of a table of doubles; equal ones are stored once. */
  table(values: readonly number[]): string {
    const known = this.#tables.find((table) => table.values === values);
    if (known !== undefined) return known.name;
    const name = `table${this.#tables.length}`;
    this.#tables.push({ name, values });
    return name;
  }

  /** The module: one kernel whose parameter is a struct of `paramBytes`. */
  module(entry: string, paramBytes: number): string {
    const registers = (Object.keys(this.#counts) as RegisterClass[])
      .filter((kind) => this.#counts[kind] > 0)
      .map((kind) => `  .reg ${declarations[kind]} %${kind}<${this.#counts[kind]}>;`);
    const tables = this.#tables.map(
      ({ name, values }) =>
        `.const .align 8 .f64 ${name}[${values.length}] = {${values.map(doubleImmediate).join(", ")}};`,
    );
    return [
      `.version ${this.#ptx.version}`,
      `.target ${this.#ptx.target}`,
      ".address_size 64",
      ...tables,
      `.visible .entry ${entry}(.param .align 8 .b8 p[${paramBytes}])`,
      "{",
      ...registers,
      ...(this.features.overlap ? overlapping(this.#lines) : this.#lines),
      "  ret;",
      "}",
      "",
    ].join("\n");
  }
}

/**
 * The other way round than `beginKernel` of kernels/common/launch.cuh: a chain's threads wait for little else than the launch before, and the next one's blocks
 * come in and fetch their weights meanwhile (ADR 54).
 */
function overlapping(lines: readonly string[]): string[] {
  const first = lines.findIndex((line) => mayTouchMemory.test(line));
  const before = first < 0 ? lines : lines.slice(0, first);
  return [
    "  griddepcontrol.launch_dependents;",
    ...before,
    "  griddepcontrol.wait;",
    ...lines.slice(before.length),
  ];
}

/** Global memory, or a line behind which not all lines run. Where an element lies is computed before the launch before is waited for. */
const mayTouchMemory = /^\s*(?!cvta)\S*global|bra|^\s*@|:\s*$/;

const scratch = new DataView(new ArrayBuffer(8));

function hex(value: number | bigint, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, "0");
}

export function floatImmediate(value: number): Operand {
  scratch.setFloat32(0, value);
  return `0f${hex(scratch.getUint32(0), 8)}`;
}

export function doubleImmediate(value: number): Operand {
  scratch.setFloat64(0, value);
  return `0d${hex(scratch.getBigUint64(0), 16)}`;
}
