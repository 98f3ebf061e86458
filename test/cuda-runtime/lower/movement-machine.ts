/**
 * @file Lowerings run on the CPU: a context that keeps every buffer as bytes, copies and evaluates by the definitions,
 * and hands launches to whoever can run them.
 */

import { emitCheapest } from "../../../cuda-runtime/cost/candidate.ts";
import { encodeValues } from "../../../cuda-runtime/ir/encode.ts";
import type { Expr } from "../../../cuda-runtime/ir/expr.ts";
import type { Question } from "../../../cuda-runtime/ir/question.ts";
import { scalarOf } from "../../../cuda-runtime/ir/scalar.ts";
import { h200, type Launch, PlanError, type PlanTarget } from "../../../cuda-runtime/ir/step.ts";
import { bytesOfType, type StorageType } from "../../../cuda-runtime/ir/storage.ts";
import {
  type DeviceBuffer,
  elementCount,
  expanded,
  isPacked,
  stridesOf,
  type View,
} from "../../../cuda-runtime/ir/view.ts";
import type { Attributes, LowerContext } from "../../../cuda-runtime/lower/context.ts";
import { decodeValues } from "../../../cuda-runtime/session/numbers.ts";
import type { Graph, Node } from "../../../src/ir/model.ts";
import { valueOfExpr } from "./movement-expr.ts";

/** Runs a launch on the buffers' bytes. */
export type Runner = (launch: Launch, memory: Memory) => void;

export interface Memory {
  bytesOf(buffer: DeviceBuffer): Uint8Array;
}

export interface MachineOptions {
  readonly run: Runner;
  /** Of `count` bytes; garbage, as memory is on a GPU. */
  readonly allocate?: (count: number) => Uint8Array;
}

function garbage(count: number): Uint8Array {
  return new Uint8Array(count).fill(0xff);
}

export class Machine implements Memory {
  readonly #buffers = new Map<DeviceBuffer, Uint8Array>();
  readonly options: MachineOptions;

  constructor(options: MachineOptions) {
    this.options = options;
  }

  bytesOf(buffer: DeviceBuffer): Uint8Array {
    const bytes = this.#buffers.get(buffer);
    if (bytes === undefined) throw new Error(`no buffer ${buffer.name}`);
    return bytes;
  }

  allocate(type: StorageType, shape: readonly number[], order?: readonly number[]): View {
    const size = Math.max(16, elementCount(shape) * bytesOfType(type));
    const buffer: DeviceBuffer = {
      id: this.#buffers.size,
      kind: "temporary",
      bytes: size,
      name: `b${this.#buffers.size}`,
    };
    this.#buffers.set(buffer, (this.options.allocate ?? garbage)(size));
    return { buffer, type, shape, strides: stridesOf(shape, order), offset: 0 };
  }

  /** A view of `values`, row-major, lying in memory in `order`. */
  tensor(
    type: StorageType,
    shape: readonly number[],
    values: ArrayLike<number>,
    order?: readonly number[],
  ): View {
    const view = this.allocate(type, shape, order);
    this.write(view, values);
    return view;
  }

  write(view: View, values: ArrayLike<number>): void {
    const bytes = this.bytesOf(view.buffer);
    const size = bytesOfType(view.type);
    const encoded = encodeValues(view.type, values);
    for (const [index, place] of placesOf(view).entries()) {
      bytes.set(encoded.subarray(index * size, (index + 1) * size), place * size);
    }
  }

  /** Row-major. Throws where the view reaches outside of its buffer. */
  read(view: View): Float64Array {
    const bytes = this.bytesOf(view.buffer);
    const size = bytesOfType(view.type);
    const places = placesOf(view);
    const picked = new Uint8Array(places.length * size);
    for (const [index, place] of places.entries()) {
      if (place < 0 || (place + 1) * size > bytes.length)
        throw new Error("a view reaches outside of its buffer");
      picked.set(bytes.subarray(place * size, (place + 1) * size), index * size);
    }
    return decodeValues(view.type, picked);
  }
}

/** Element offsets of a view, in row-major order. */
export function placesOf({ shape, strides, offset }: View): number[] {
  const rowMajor = stridesOf(shape);
  return Array.from({ length: elementCount(shape) }, (_, index) =>
    shape.reduce(
      (place, size, axis) =>
        place + (Math.floor(index / (rowMajor[axis] ?? 1)) % size) * (strides[axis] ?? 0),
      offset,
    ),
  );
}

export interface NodeSpec {
  readonly opset: number;
  readonly attributes: Attributes;
  readonly inputs: readonly (View | undefined)[];
  readonly outputs: readonly { readonly type: StorageType; readonly shape: readonly number[] }[];
  /** Elements that planning may know; those of every input where it is left out. */
  readonly known?: (index: number) => boolean;
  readonly node: Node;
}

/** A node of nothing but its operator. */
export function nodeOf(opType: string): Node {
  const span = { offset: 0, length: 0 };
  const graph: Graph = {
    name: "",
    owner: undefined,
    nodes: [],
    inputs: [],
    outputs: [],
    annotated: new Set(),
    values: new Map(),
    span,
  };
  return {
    id: 0,
    name: "",
    domain: "",
    opType,
    overload: "",
    inputs: [],
    outputs: [],
    attributes: [],
    graph,
    span,
  };
}

const noAttribute = () => undefined;

export function attributesOf(values: Readonly<Record<string, unknown>>): Attributes {
  const numberOf = (name: string) => {
    const value = values[name];
    return typeof value === "number" ? value : undefined;
  };
  const numbersOf = (name: string) => {
    const value = values[name];
    return Array.isArray(value) && value.every((each) => typeof each === "number") ? value : undefined;
  };
  return {
    int: numberOf,
    float: numberOf,
    string: (name) => {
      const value = values[name];
      return typeof value === "string" ? value : undefined;
    },
    ints: numbersOf,
    floats: numbersOf,
    strings: noAttribute,
    has: (name) => values[name] !== undefined,
  };
}

/** One node's context. `results` holds its outputs once it is lowered. */
export class MachineContext implements LowerContext {
  readonly target: PlanTarget = h200;
  readonly tf32 = false;
  readonly results: (View | undefined)[] = [];
  readonly launches: Launch[] = [];
  readonly machine: Machine;
  readonly #spec: NodeSpec;

  constructor(machine: Machine, spec: NodeSpec) {
    this.machine = machine;
    this.#spec = spec;
  }

  choose<Way>(question: Question<Way>): boolean {
    return emitCheapest(this, question);
  }

  get node(): Node {
    return this.#spec.node;
  }
  get opset(): number {
    return this.#spec.opset;
  }
  get inputCount(): number {
    return this.#spec.inputs.length;
  }
  get outputCount(): number {
    return this.#spec.outputs.length;
  }
  int(name: string): number | undefined {
    return this.#spec.attributes.int(name);
  }
  float(name: string): number | undefined {
    return this.#spec.attributes.float(name);
  }
  string(name: string): string | undefined {
    return this.#spec.attributes.string(name);
  }
  ints(name: string): readonly number[] | undefined {
    return this.#spec.attributes.ints(name);
  }
  floats(name: string): readonly number[] | undefined {
    return this.#spec.attributes.floats(name);
  }
  strings(name: string): readonly string[] | undefined {
    return this.#spec.attributes.strings(name);
  }
  has(name: string): boolean {
    return this.#spec.attributes.has(name);
  }
  tensorElements(): undefined {
    return undefined;
  }
  hasInput(index: number): boolean {
    return this.#spec.inputs[index] !== undefined;
  }
  hasOutput(index: number): boolean {
    return this.#spec.outputs[index] !== undefined;
  }
  input(index: number): View {
    return this.#spec.inputs[index] ?? this.fail(`has no input ${index}`);
  }
  expr(index: number): Expr {
    const view = this.input(index);
    return { kind: "load", type: scalarOf(view.type), view };
  }
  inputShape(index: number): readonly number[] {
    return this.input(index).shape;
  }
  inputType(index: number): StorageType {
    return this.input(index).type;
  }
  modelType(index: number): StorageType {
    return this.inputType(index);
  }
  elements(index: number): readonly number[] | undefined {
    const view = this.#spec.inputs[index];
    const isKnown = this.#spec.known?.(index) ?? true;
    return view === undefined || !isKnown ? undefined : Array.from(this.machine.read(view));
  }
  knownElements(index: number): readonly number[] {
    return this.elements(index) ?? this.fail(`input ${index} is not known`);
  }
  outputShape(index: number): readonly number[] {
    return this.#spec.outputs[index]?.shape ?? this.fail(`has no output ${index}`);
  }
  outputType(index: number): StorageType {
    return this.#spec.outputs[index]?.type ?? this.fail(`has no output ${index}`);
  }
  output(index: number, order?: readonly number[]): View {
    const view = this.machine.allocate(this.outputType(index), this.outputShape(index), order);
    this.results[index] = view;
    return view;
  }
  /** Undefined: outputs get memory of their own. */
  codesBehind(): undefined {
    return undefined;
  }

  home(_index: number): View | undefined {
    return undefined;
  }
  homeInConcat(_index: number): View | undefined {
    return undefined;
  }
  setOutput(index: number, view: View): void {
    const expected = this.outputShape(index);
    if (view.shape.join() !== expected.join()) {
      throw new Error(`output ${index} is [${view.shape.join()}], expected [${expected.join()}]`);
    }
    this.results[index] = this.packed(view, { type: this.outputType(index), keep: true });
  }
  setExpr(index: number, expr: Expr): void {
    this.evaluateInto(expr, this.output(index));
  }
  setProduct(): void {
    this.fail("gives a product");
  }
  fail(reason: string): never {
    throw new PlanError(this.#spec.node.opType, reason);
  }
  launch(launch: Launch): void {
    this.launches.push(launch);
    this.machine.options.run(launch, this.machine);
  }
  clear(view: View): void {
    this.machine.write(view, new Float64Array(elementCount(view.shape)));
  }
  temporary(type: StorageType, shape: readonly number[], order?: readonly number[]): View {
    return this.machine.allocate(type, shape, order);
  }
  constant(type: StorageType, shape: readonly number[], values: readonly number[]): View {
    return this.machine.tensor(type, shape, values);
  }
  copy(from: View, to: View): void {
    this.machine.write(to, this.machine.read(expanded(from, to.shape)));
  }
  packed(
    view: View,
    options: {
      readonly order?: readonly number[];
      readonly type?: StorageType;
      readonly keep?: boolean;
    } = {},
  ): View {
    const { order, type = view.type, keep = false } = options;
    if (type === view.type && (keep || isPacked(view, order))) return view;
    const to = this.temporary(type, view.shape, order);
    this.copy(view, to);
    return to;
  }
  evaluate(expr: Expr, shape: readonly number[], type: StorageType, order?: readonly number[]): View {
    const to = this.temporary(type, shape, order);
    this.evaluateInto(expr, to);
    return to;
  }
  evaluateInto(expr: Expr, to: View): void {
    const rowMajor = stridesOf(to.shape);
    const values = Array.from({ length: elementCount(to.shape) }, (_, index) => {
      const position = to.shape.map((size, axis) => Math.floor(index / (rowMajor[axis] ?? 1)) % size);
      return valueOfExpr(expr, position, (view) => this.machine.read(view));
    });
    this.machine.write(to, values);
  }
  isConstant(): boolean {
    return false;
  }
}
