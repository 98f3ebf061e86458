/** @file What a value is in a resampling that is written out: a place among source times, a weight, a part of the result. */
import type { Node, Value } from "../../src/ir/model.ts";
import type { Blend, SourceIndex, WeightRule } from "../kernels/resample/resample.ts";
import { type Compared, type Lookup, type Role, sameLookup } from "./resample-lookup.ts";
import type { Roles } from "./resample-roles.ts";

/** Which rows are taken of which data. */
export interface Rows {
  readonly data: Value;
  readonly axis: number;
  /** Sizes of the result: before the target rows, they themselves, behind them. */
  readonly batch: number;
  readonly target: number;
  readonly features: number;
  /** Whether each batch has data of its own. */
  readonly isBatched: boolean;
  readonly lookup: Lookup;
}

export interface Weight {
  readonly lookup: Lookup;
  readonly low: SourceIndex;
  readonly high: SourceIndex;
  readonly rule: WeightRule;
}

/** The time between two rows, as a divisor. */
export interface Span {
  readonly lookup: Lookup;
  readonly low: SourceIndex;
  readonly high: SourceIndex;
  readonly rule: Pick<WeightRule, "spanAdd" | "spanLeast" | "zeroSpan">;
}

export type EmptyKind = WeightRule["empty"]["kind"];

export type Meaning =
  | { readonly kind: "compared"; readonly compared: Compared }
  | { readonly kind: "index"; readonly lookup: Lookup; readonly index: SourceIndex }
  /** A source time that was looked up. */
  | { readonly kind: "time"; readonly lookup: Lookup; readonly index: SourceIndex }
  /** From a source time to the target. */
  | { readonly kind: "passed"; readonly lookup: Lookup; readonly index: SourceIndex }
  | { readonly kind: "span"; readonly span: Span }
  /** Whether there is no time between two rows; where it is not what it says, `isNot`. */
  | { readonly kind: "empty"; readonly span: Span; readonly empty: EmptyKind; readonly isNot: boolean }
  | { readonly kind: "weight"; readonly weight: Weight }
  /** Whether it is less than a half. */
  | { readonly kind: "near"; readonly weight: Weight }
  /** 1 − weight */
  | { readonly kind: "rest"; readonly weight: Weight }
  | { readonly kind: "row"; readonly rows: Rows; readonly index: SourceIndex }
  /** high − low */
  | {
      readonly kind: "between";
      readonly rows: Rows;
      readonly low: SourceIndex;
      readonly high: SourceIndex;
    }
  /** weight · (high − low), or the rest of it. */
  | { readonly kind: "step"; readonly rows: Rows; readonly weight: Weight; readonly isRest: boolean }
  /** A row by its weight, or by the rest of it. */
  | {
      readonly kind: "share";
      readonly rows: Rows;
      readonly index: SourceIndex;
      readonly weight: Weight;
      readonly isRest: boolean;
    }
  /** high − (high − low) · (1 − weight) */
  | { readonly kind: "fromHigh"; readonly rows: Rows; readonly weight: Weight }
  | { readonly kind: "result"; readonly rows: Rows; readonly weight: Weight; readonly blend: Blend };

export type Term = Meaning & {
  readonly roles: Roles<Role>;
  /** That make it, from the comparison on. */
  readonly nodes: ReadonlySet<Node>;
};

export type TermOf<Kind extends Term["kind"]> = Extract<Term, { readonly kind: Kind }>;

export function sameIndex(a: SourceIndex, b: SourceIndex): boolean {
  return a.shift === b.shift && a.least === b.least && a.most === b.most;
}

/** min(max(index, least), most) of one that is limited already. */
export function limited(index: SourceIndex, least: number, most: number): SourceIndex {
  const within = (at: number) => Math.min(Math.max(at, least), most);
  return { shift: index.shift, least: within(index.least), most: within(index.most) };
}

export function shifted({ shift, least, most }: SourceIndex, by: number): SourceIndex {
  return { shift: shift + by, least: least + by, most: most + by };
}

export function sameRows(a: Rows, b: Rows): boolean {
  return a.data === b.data && a.axis === b.axis && a.batch === b.batch && a.isBatched === b.isBatched;
}

export function sameWeight(a: Weight, b: Weight): boolean {
  return (
    sameLookup(a.lookup, b.lookup) &&
    sameIndex(a.low, b.low) &&
    sameIndex(a.high, b.high) &&
    JSON.stringify(a.rule, infinities) === JSON.stringify(b.rule, infinities)
  );
}

function infinities(_: string, value: unknown): unknown {
  return typeof value === "number" ? String(value) : value;
}
