/** @file What a rule looks for in a graph, as data: written with `patterns`, read by the matcher. */
import type { DType } from "../../ir/dtype.ts";
import type { Node, Value } from "../../ir/model.ts";
import type { GraphFacts } from "./graph-facts.ts";

/** By a sentence that says what must hold: `tc-lint explain-match` says which did not. */
export type Conditions<T> = Readonly<Record<string, (subject: T, facts: GraphFacts) => boolean>>;

/**
 * A number is that size. A name is any size, the same wherever the pattern names it. `"_"` is any size, and `"..."`, in front, any
 * number of them.
 */
export type ShapePattern = readonly (number | string)[];

export interface TensorOptions {
  /** One of these types. */
  readonly dtype?: DType | readonly DType[];
  readonly shape?: ShapePattern;
  readonly where?: Conditions<Value>;
}

export type AttributeFact = number | string | readonly number[] | readonly string[] | undefined;

/** What it is (floats to five digits), or whether it will do; an attribute that is not there is undefined. */
export type AttributePattern = number | string | readonly number[] | ((value: AttributeFact) => boolean);

export interface OpOptions<As extends string = string> {
  /** What the node is called: `match.node("conv")`. */
  readonly as?: As;
  /** Its result is read once, by the node of the pattern that it leads to, and is no output of the graph. */
  readonly only?: boolean;
  /** Operands may stand in any order. */
  readonly commute?: boolean;
  readonly attributes?: Readonly<Record<string, AttributePattern>>;
  /** Which of its results the pattern goes on from; the first unless given. */
  readonly output?: number;
  /** Of that result. */
  readonly dtype?: TensorOptions["dtype"];
  readonly shape?: ShapePattern;
  readonly where?: Conditions<Node>;
}

/** Of the node that comes next. */
export interface ThenOptions<As extends string = string, With extends Operands = Operands>
  extends Omit<OpOptions<As>, "only" | "commute"> {
  /** What it reads is read by it alone, and is no output of the graph. */
  readonly only?: boolean;
  /** The node may be left out. */
  readonly optional?: boolean;
  /** Which of its inputs reads the pattern so far; any unless given. */
  readonly input?: number;
  /** Its other inputs, in order. */
  readonly with?: With;
  /** The other inputs may stand in any order. */
  readonly commute?: boolean;
}

/** Patterns of a node's inputs in order, by the names that they are captured under. Inputs behind the last one may be anything. */
export type Operands = Readonly<Record<string, Pattern<string, string>>>;

export interface Operand {
  readonly name: string;
  readonly pattern: Pattern;
}

export interface OpForm {
  readonly kind: "op";
  readonly types: readonly string[];
  readonly operands: readonly Operand[];
  readonly options: OpOptions;
  /** What the pattern was before `then`. */
  readonly previous?: {
    readonly pattern: Pattern;
    readonly input: number | undefined;
    readonly only: boolean;
  };
}

export type PatternForm =
  | OpForm
  | { readonly kind: "any"; readonly options: TensorOptions }
  | { readonly kind: "const"; readonly options: TensorOptions; readonly number?: number }
  | { readonly kind: "anyOf"; readonly choices: readonly Pattern[] }
  | { readonly kind: "optional"; readonly of: Pattern }
  | { readonly kind: "variadic"; readonly of: Pattern; readonly least: number; readonly most: number }
  | { readonly kind: "absent" };

/** Names that a pattern captures nodes and values under. */
interface Names<Nodes extends string, Values extends string> {
  readonly nodes: Nodes;
  readonly values: Values;
}

export type NodesIn<O extends Operands> = NonNullable<O[keyof O]["names"]>["nodes"];
export type ValuesIn<O extends Operands> = (keyof O & string) | NonNullable<O[keyof O]["names"]>["values"];

/** A part of a graph: a value, or the node that computes it. Patterns are values themselves, and may be used several times. */
export class Pattern<Nodes extends string = string, Values extends string = string> {
  /** For the compiler alone. */
  declare readonly names?: Names<Nodes, Values>;
  readonly form: PatternForm;

  constructor(form: PatternForm) {
    this.form = form;
  }

  /** The node that reads it. */
  // biome-ignore lint/suspicious/noThenProperty: as patterns are read; a pattern that is awaited says so
  then<const As extends string = never, With extends Operands = Record<never, never>>(
    types: string | readonly string[],
    options: ThenOptions<As, With> = {},
  ): Pattern<Nodes | As | NodesIn<With>, Values | ValuesIn<With>> {
    if (typeof types === "function") throw new TypeError("a pattern is no promise: it cannot be awaited");
    const { only = false, optional = false, input, with: others, ...own } = options;
    const next = new Pattern<Nodes | As | NodesIn<With>, Values | ValuesIn<With>>({
      kind: "op",
      types: [types].flat(),
      operands: operandsOf(others ?? {}),
      options: own,
      previous: { pattern: this, input, only },
    });
    return optional ? new Pattern({ kind: "anyOf", choices: [next, this] }) : next;
  }
}

function operandsOf(operands: Operands): Operand[] {
  const found = Object.entries(operands).map(([name, pattern]) => ({ name, pattern }));
  for (const [index, { name, pattern }] of found.entries()) {
    // Numbers would come first, whatever order they are written in.
    if (/^\d+$/.test(name)) throw new TypeError(`an operand is named, found "${name}"`);
    if (!(pattern instanceof Pattern)) throw new TypeError(`operand "${name}" is no pattern`);
    if (namesIn(pattern).has(name))
      throw new TypeError(`operand "${name}" is named as what it is computed of: one name is one value`);
    if (pattern.form.kind === "variadic" && index < found.length - 1)
      throw new TypeError(`operand "${name}": variadic is the last operand`);
  }
  return found;
}

/** Names that a pattern captures values under; those in `variadic` stay inside. */
function namesIn({ form }: Pattern): ReadonlySet<string> {
  switch (form.kind) {
    case "op": {
      const above = [...form.operands.map(({ pattern }) => pattern), form.previous?.pattern ?? []].flat();
      return new Set([
        ...form.operands.map(({ name }) => name),
        ...above.flatMap((each) => [...namesIn(each)]),
      ]);
    }
    case "anyOf":
      return new Set(form.choices.flatMap((choice) => [...namesIn(choice)]));
    case "optional":
      return namesIn(form.of);
    default:
      return new Set();
  }
}

/** What patterns are written with. */
export interface PatternBuilder {
  /** A node: `Conv`, `com.microsoft::FusedConv`, one of several, or `*` for any; and what it reads. */
  op<const As extends string = never, O extends Operands = Record<never, never>>(
    types: string | readonly string[],
    operands?: O,
    options?: OpOptions<As>,
  ): Pattern<As | NodesIn<O>, ValuesIn<O>>;
  /** Any value. */
  any(options?: TensorOptions): Pattern<never, never>;
  /** A value stored with the model, possibly behind views and conversions. */
  const(options?: TensorOptions): Pattern<never, never>;
  /** A constant of one element: this number, to the digits that half precision keeps. */
  number(value: number): Pattern<never, never>;
  /** The first of these that fits, with what follows from it. */
  anyOf<P extends readonly Pattern<string, string>[]>(
    ...choices: P
  ): Pattern<NonNullable<P[number]["names"]>["nodes"], NonNullable<P[number]["names"]>["values"]>;
  /** An operand that may be left out. */
  optional<N extends string, V extends string>(of: Pattern<N, V>): Pattern<N, V>;
  /** All operands from here on, each of which is this. What it captures stays inside: `match.values` has the operands. */
  variadic(
    of: Pattern<string, string>,
    bounds?: { readonly least?: number; readonly most?: number },
  ): Pattern<never, never>;
  /** An operand that is left out. */
  absent(): Pattern<never, never>;
}

export const patterns: PatternBuilder = Object.freeze({
  op<const As extends string = never, O extends Operands = Record<never, never>>(
    types: string | readonly string[],
    operands?: O,
    options: OpOptions<As> = {},
  ) {
    return new Pattern<As | NodesIn<O>, ValuesIn<O>>({
      kind: "op",
      types: [types].flat(),
      operands: operandsOf(operands ?? {}),
      options,
    });
  },
  any: (options: TensorOptions = {}) => new Pattern<never, never>({ kind: "any", options }),
  const: (options: TensorOptions = {}) => new Pattern<never, never>({ kind: "const", options }),
  number: (value: number) => new Pattern<never, never>({ kind: "const", options: {}, number: value }),
  anyOf<P extends readonly Pattern<string, string>[]>(...choices: P) {
    if (choices.length === 0) throw new TypeError("anyOf: expected at least one pattern");
    return new Pattern<NonNullable<P[number]["names"]>["nodes"], NonNullable<P[number]["names"]>["values"]>({
      kind: "anyOf",
      choices,
    });
  },
  optional: <N extends string, V extends string>(of: Pattern<N, V>) =>
    new Pattern<N, V>({ kind: "optional", of }),
  variadic: (of: Pattern<string, string>, { least = 1, most = Number.POSITIVE_INFINITY } = {}) =>
    new Pattern<never, never>({ kind: "variadic", of, least, most }),
  absent: () => new Pattern<never, never>({ kind: "absent" }),
});

/** Operators that a pattern can end in; undefined for any. Throws TypeError where that is no node. */
export function rootTypes({ form }: Pattern): ReadonlySet<string> | undefined {
  if (form.kind === "op") return form.types.includes("*") ? undefined : new Set(form.types);
  if (form.kind !== "anyOf") throw new TypeError("a pattern ends in a node: op, then, or anyOf of such");
  const types = new Set<string>();
  for (const choice of form.choices) {
    const own = rootTypes(choice);
    if (own === undefined) return undefined;
    for (const type of own) types.add(type);
  }
  return types;
}
