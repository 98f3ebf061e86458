/** @file Holds a pattern against a graph, from the node that it ends in upwards, choice after choice until one fits. */
import { counted } from "../../ir/format.ts";
import type { Node, Value } from "../../ir/model.ts";
import { Bindings } from "./bindings.ts";
import { boundShape, checks, wrongAttribute, wrongCondition, wrongDtype } from "./constraints.ts";
import type { GraphFacts } from "./graph-facts.ts";
import { describeNodeOf, describeValue, type Path, type Trace } from "./miss.ts";
import type { Operand, OpForm, Pattern, PatternForm, TensorOptions } from "./pattern.ts";

/** Parts that one node is tried with: what takes more is no pattern but a search, and whoever wrote it is told. */
const mostParts = 20_000;
const partsPerInput = 50;

export class PatternTooLong extends Error {
  override readonly name = "PatternTooLong";

  constructor(parts: number) {
    super(
      `the pattern was tried with ${parts} parts and more: fewer choices within each other (commute, anyOf, optional) are needed`,
    );
  }
}

/** Where a part of the pattern stands; `none` where nobody asks. */
type At = Path | undefined;

type Form<Kind extends PatternForm["kind"]> = Extract<PatternForm, { readonly kind: Kind }>;

export class Matcher {
  readonly #facts: GraphFacts;
  readonly #trace: Trace | undefined;
  #parts = 0;
  #limit = 0;

  constructor(facts: GraphFacts, trace?: Trace) {
    this.#facts = facts;
    this.#trace = trace;
  }

  /** What a pattern takes in that ends in `root`, where it does; of several ways the first. Throws PatternTooLong. */
  match(pattern: Pattern, root: Node): Bindings | undefined {
    this.#parts = 0;
    this.#limit = mostParts + partsPerInput * root.inputs.length;
    const at = this.#trace && { part: "", above: undefined };
    return this.#root(pattern, root, Bindings.none, at).next().value ?? undefined;
  }

  *#root({ form }: Pattern, root: Node, found: Bindings, at: At): Generator<Bindings, undefined> {
    if (form.kind === "op") yield* this.#node(form, root, root.outputs[form.options.output ?? 0], found, at);
    else if (form.kind === "anyOf")
      for (const choice of form.choices) yield* this.#root(choice, root, found, at);
    return undefined;
  }

  *#value({ form }: Pattern, value: Value | undefined, found: Bindings, at: At): Generator<Bindings> {
    if (++this.#parts > this.#limit) throw new PatternTooLong(this.#limit);
    if (form.kind === "optional") {
      if (value === undefined) yield found;
      else yield* this.#value(form.of, value, found, at);
    } else if (form.kind === "absent") {
      if (value === undefined) yield found;
      else this.#miss(found, at, "none", () => describeValue(value));
    } else if (value === undefined) this.#miss(found, at, "an operand", () => "none");
    else yield* this.#present(form, value, found, at);
  }

  *#present(
    form: Exclude<PatternForm, Form<"optional" | "absent">>,
    value: Value,
    found: Bindings,
    at: At,
  ): Generator<Bindings> {
    switch (form.kind) {
      case "any":
        yield* this.#tensor(form.options, value, found, at);
        return;
      case "const":
        yield* this.#const(form, value, found, at);
        return;
      case "op":
        yield* this.#maker(form, value, found, at);
        return;
      case "anyOf":
        for (const choice of form.choices) yield* this.#value(choice, value, found, at);
        return;
      case "variadic":
        // Stands for several operands, which whoever has them holds against `of`.
        return;
    }
  }

  *#const(form: Form<"const">, value: Value, found: Bindings, at: At): Generator<Bindings> {
    if (!this.#facts.isConst(value)) return this.#miss(found, at, "a constant", () => describeValue(value));
    if (form.number !== undefined) {
      const elements = this.#facts.elements(value);
      const [element] = elements ?? [];
      if (elements?.length !== 1 || element === undefined || !checks.isNear(element, form.number))
        return this.#miss(found, at, `the number ${form.number}`, () => describeConstant(value, elements));
    }
    yield* this.#tensor(form.options, value, found, at);
  }

  *#maker(form: OpForm, value: Value, found: Bindings, at: At): Generator<Bindings> {
    const { producer } = value;
    const { output = 0 } = form.options;
    if (producer === undefined || producer.graph !== this.#facts.scope.graph)
      return this.#miss(found, at, listed(form.types), () => describeValue(value));
    if (this.#isType(form, producer) && producer.outputs[output] !== value)
      return this.#miss(found, at, `output ${output}`, () => describeValue(value));
    if (form.options.only === true && !this.#isOnly(value, found, at)) return;
    yield* this.#node(form, producer, value, found, at);
  }

  /** Whether one node reads a value, and nothing outside of the graph. */
  #isOnly(value: Value, found: Bindings, at: At): boolean {
    const readers = new Set(value.consumers);
    if (!value.isOutput && readers.size === 1) return true;
    const what = value.isOutput ? "an output of the graph" : `read by ${counted(readers.size, "node")}`;
    this.#miss(found, at, "a result that is read once (only)", () => `${describeValue(value)}, ${what}`);
    return false;
  }

  #isType({ types }: OpForm, node: Node): boolean {
    return types.includes("*") || types.includes(this.#facts.operator(node));
  }

  /** `value` is the result that the pattern goes on from. */
  *#node(form: OpForm, node: Node, value: Value | undefined, found: Bindings, at: At): Generator<Bindings> {
    const { options } = form;
    if (!this.#isType(form, node))
      return this.#miss(found, at, listed(form.types), () => describeNodeOf(node));
    if (options.as !== undefined) {
      const known = found.node(options.as);
      if (known !== undefined && known !== node)
        return this.#miss(found, at, `the same node as "${options.as}"`, () => describeNodeOf(node));
    }
    const taken = found.with({ kind: "node", name: options.as, node });
    const attribute = wrongAttribute(options.attributes, node, this.#facts);
    if (attribute !== undefined) return this.#miss(taken, at, attribute.expected, () => attribute.found);
    const condition = wrongCondition(options.where, node, this.#facts);
    if (condition !== undefined) return this.#miss(taken, at, condition, () => "that it does not hold");
    const own = { ...pick(options) };
    const withTensor = value === undefined ? [taken] : this.#tensor(own, value, taken, at);
    for (const each of withTensor) yield* this.#operands(form, node, each, at);
  }

  *#operands(form: OpForm, node: Node, found: Bindings, at: At): Generator<Bindings> {
    const { previous } = form;
    if (previous === undefined) return yield* this.#assign(form, node, 0, new Set(), found, at);
    for (const [index, value] of node.inputs.entries()) {
      if (previous.input !== undefined && previous.input !== index) continue;
      if (value === undefined) continue;
      const part = at && { part: `input ${index}`, above: at };
      if (previous.only && !this.#isOnly(value, found, part)) continue;
      for (const each of this.#value(previous.pattern, value, found, part))
        yield* this.#assign(form, node, 0, new Set([index]), each, at);
    }
    return undefined;
  }

  /** Operands from number `next` on, to inputs that are not taken. */
  *#assign(
    form: OpForm,
    node: Node,
    next: number,
    taken: ReadonlySet<number>,
    found: Bindings,
    at: At,
  ): Generator<Bindings> {
    const operand = form.operands[next];
    if (operand === undefined) return yield found;
    if (operand.pattern.form.kind === "variadic")
      return yield* this.#rest(operand, operand.pattern.form, { node, taken }, found, at);
    const free = [...node.inputs.keys()].filter((index) => !taken.has(index));
    const [first = node.inputs.length, ...others] = free;
    const isAny = form.options.commute === true;
    for (const index of isAny ? [first, ...others] : [first]) {
      const part = at && { part: `operand "${operand.name}" (input ${index})`, above: at };
      for (const each of this.#operand(operand, node.inputs[index], found, part))
        yield* this.#assign(form, node, next + 1, new Set([...taken, index]), each, at);
    }
    return undefined;
  }

  *#operand(
    { name, pattern }: Operand,
    value: Value | undefined,
    found: Bindings,
    at: At,
  ): Generator<Bindings> {
    const known = found.value(name);
    if (known !== undefined && value !== undefined && known !== value)
      return this.#miss(found, at, `the same as "${name}" before, ${describeValue(known)}`, () =>
        describeValue(value),
      );
    const taken = value === undefined ? found : found.with({ kind: "value", name, value });
    yield* this.#value(pattern, value, taken, at);
    return undefined;
  }

  *#rest(
    { name }: Operand,
    { of, least, most }: Form<"variadic">,
    { node, taken }: { readonly node: Node; readonly taken: ReadonlySet<number> },
    found: Bindings,
    at: At,
  ): Generator<Bindings> {
    const values: Value[] = [];
    let all = found;
    for (const [index, value] of node.inputs.entries()) {
      if (taken.has(index) || value === undefined) continue;
      values.push(value);
      const part = at && { part: `operand "${name}" (input ${index})`, above: at };
      // Each by itself: what one captures says nothing of the next. Its nodes belong to the match.
      const own: Bindings | undefined = this.#value(of, value, Bindings.none, part).next().value ?? undefined;
      if (own === undefined) return;
      for (const each of own.nodes()) all = all.with({ kind: "node", name: undefined, node: each });
    }
    if (values.length < least || values.length > most) {
      const bounds = most === Number.POSITIVE_INFINITY ? `${least} or more` : `${least} to ${most}`;
      return this.#miss(found, at, `"${name}": ${bounds} operands`, () => String(values.length));
    }
    yield all.with({ kind: "values", name, values });
  }

  *#tensor(options: TensorOptions, value: Value, found: Bindings, at: At): Generator<Bindings> {
    const dtype = wrongDtype(options.dtype, this.#facts.dtype(value));
    if (dtype !== undefined) return this.#miss(found, at, dtype.expected, () => dtype.found);
    const shaped = boundShape(options.shape, this.#facts.shape(value), found);
    if (!("size" in shaped)) return this.#miss(found, at, shaped.expected, () => shaped.found);
    const condition = wrongCondition(options.where, value, this.#facts);
    if (condition !== undefined) return this.#miss(found, at, condition, () => "that it does not hold");
    yield shaped;
  }

  #miss(found: Bindings, at: At, expected: string, what: () => string): void {
    if (this.#trace === undefined || at === undefined) return;
    this.#trace.miss({ at, expected, found: what(), taken: found });
  }
}

function listed(types: readonly string[]): string {
  return types.includes("*") ? "a node" : types.join(" or ");
}

function describeConstant(value: Value, elements: readonly number[] | undefined): string {
  if (elements?.length === 1) return `the number ${elements[0]}`;
  return elements === undefined ? describeValue(value) : `${elements.length} elements`;
}

function pick({ dtype, shape }: TensorOptions | OpForm["options"]): TensorOptions {
  return { ...(dtype === undefined ? {} : { dtype }), ...(shape === undefined ? {} : { shape }) };
}
