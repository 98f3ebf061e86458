/** @file What the user says about sizes: `--shape` and `--dim`, checked against what the model declares. */
import { collectSymbols, type Dim, type Shape, type SymbolicDim, substituteDim, symbol } from "../ir/dim.ts";
import { InputError } from "../ir/errors.ts";
import { listText } from "../ir/message.ts";
import type { Model, Value, ValueType } from "../ir/model.ts";
import { requiredInputs } from "../ir/symbols.ts";

export interface BindOptions {
  /** Sizes of graph inputs by name, one number an axis. */
  readonly shapes?: ReadonlyMap<string, readonly number[]> | undefined;
  /** Sizes of symbolic dims by name. */
  readonly dims?: ReadonlyMap<string, number> | undefined;
}

/** Symbols with a given size. Substitutes them wherever the model declares a shape. */
export class Bindings {
  readonly sizes: ReadonlyMap<string, number>;

  constructor(sizes: ReadonlyMap<string, number>) {
    this.sizes = sizes;
  }

  dim(dim: Dim): Dim {
    if (typeof dim === "number" || this.sizes.size === 0) return dim;
    return substituteDim(dim, (name) => this.sizes.get(name));
  }

  shape(shape: Shape): Shape {
    if (this.sizes.size === 0) return shape;
    return shape.map((dim) => this.dim(dim));
  }
}

/** Throws InputError for names the model does not have, and for sizes that contradict it or each other. */
export function bindSymbols(model: Model, options: BindOptions): Bindings {
  const sizes = new Map<string, number>();
  for (const [name, size] of options.dims ?? []) {
    checkSize(size, `dimension "${name}"`);
    sizes.set(name, size);
  }
  const inputs = new Map(model.graph.inputs.map((input) => [input.name, input]));
  for (const [name, shape] of options.shapes ?? []) {
    const input = inputs.get(name);
    if (input === undefined) throw unknownInput(name, model);
    bindInput(input, shape, sizes);
  }
  if (options.dims !== undefined && options.dims.size > 0) checkNames(options.dims.keys(), model);
  return new Bindings(sizes);
}

function bindInput(input: Value, shape: readonly number[], sizes: Map<string, number>): void {
  const what = `input "${input.name}"`;
  const declared = input.declared;
  if (declared !== undefined && declared.kind !== "tensor") {
    throw new InputError("shape-contradiction", `${what} is a ${declared.kind}; only tensors have a shape`);
  }
  const expected = input.initializer?.dims ?? declared?.shape;
  if (expected !== undefined && expected.length !== shape.length) {
    const given = `a shape of ${shape.length} axes cannot be given`;
    throw new InputError("shape-contradiction", `${what} has ${expected.length} axes: ${given}`);
  }
  shape.forEach((size, axis) => {
    checkSize(size, `axis ${axis} of ${what}`);
    const dim = expected?.[axis];
    if (dim !== undefined) bindAxis(dim, size, `axis ${axis} of ${what}`, sizes);
  });
}

function bindAxis(dim: Dim, size: number, what: string, sizes: Map<string, number>): void {
  if (typeof dim === "number") {
    if (dim === size) return;
    throw new InputError(
      "shape-contradiction",
      `${what} is fixed at ${dim} in the model and cannot be ${size}`,
    );
  }
  const name = nameOf(dim);
  if (name === undefined) return;
  const before = sizes.get(name);
  if (before !== undefined && before !== size) {
    throw new InputError(
      "shape-contradiction",
      `${what} is "${name}", which is already ${before}: it cannot be ${size}`,
    );
  }
  sizes.set(name, size);
}

/** The name of a dim that is nothing but a symbol. */
function nameOf(dim: SymbolicDim): string | undefined {
  const names = new Set<string>();
  collectSymbols(dim, names);
  const [name] = names;
  return name !== undefined && symbol(name).key === dim.key ? name : undefined;
}

function checkSize(size: number, what: string): void {
  if (Number.isSafeInteger(size) && size >= 0) return;
  throw new InputError("bad-size", `${what}: ${size} is not a size`);
}

/** Of the sizes that a user gives, those of symbols that this model's inputs have: another state of it may have more. */
export function dimsOf(model: Model, dims: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const known = inputNames(model);
  return new Map([...dims].filter(([name]) => known.has(name)));
}

function inputNames(model: Model): Set<string> {
  const known = new Set<string>();
  for (const input of model.graph.inputs) collectFrom(input.declared, known);
  return known;
}

function checkNames(names: Iterable<string>, model: Model): void {
  const known = inputNames(model);
  const missing = [...names].filter((name) => !known.has(name));
  if (missing.length === 0) return;
  const all = new Set(known);
  for (const value of model.graph.values.values()) collectFrom(value.declared, all);
  for (const name of missing) {
    if (all.has(name)) continue;
    const list = [...known].sort();
    const has = list.length === 0 ? "it has no symbolic ones" : `it has ${list.join(", ")}`;
    const what = `the model has no dimension named "${name}"; ${has}${fixedText(model)}`;
    throw new InputError("unknown-dimension", what);
  }
}

/** Inputs named in a message. */
const mostNamed = 3;

/** Where the batch is, unless an export says otherwise, and how an axis gets a name; empty where none of them is fixed. */
function fixedText(model: Model): string {
  const fixed = requiredInputs(model).flatMap(({ name, declared }) => {
    const shape = declared?.kind === "tensor" ? declared.shape : undefined;
    const [first] = shape ?? [];
    return shape === undefined || typeof first !== "number"
      ? []
      : [`input "${name}" ${listText(shape)} has a fixed first axis of ${first}`];
  });
  if (fixed.length === 0) return "";
  const more = fixed.length > mostNamed ? ` and ${fixed.length - mostNamed} more` : "";
  const how =
    "--fix --batch dynamic names that axis where the graph allows it; else re-export with dynamic_shapes, or dynamic_axes, or lint it as it is";
  return `; ${fixed.slice(0, mostNamed).join(", ")}${more}: ${how}`;
}

function collectFrom(type: ValueType | undefined, into: Set<string>): void {
  if (type?.kind === "tensor") for (const dim of type.shape ?? []) collectSymbols(dim, into);
  if (type?.kind === "sequence" || type?.kind === "optional") collectFrom(type.element, into);
}

function unknownInput(name: string, model: Model): InputError {
  const names = model.graph.inputs
    .filter((input) => input.initializer === undefined)
    .map((input) => input.name);
  return new InputError(
    "unknown-input",
    `the model has no input named "${name}"; its inputs are ${names.join(", ")}`,
  );
}
