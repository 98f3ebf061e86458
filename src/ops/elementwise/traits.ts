/** @file Traits of operators that work lane by lane. */
import { type HalfTraits, half, leavesRange, losesDigits, noHalf, type Traits } from "../traits.ts";
import type { UnaryType } from "./curves.ts";
import type { BroadcastType } from "./lanes.ts";

type Others = Omit<Traits, "elements" | "half" | "layout">;

function lanewise(halfTraits: HalfTraits, others: Others = {}): Traits {
  return { elements: "computed", half: halfTraits, layout: "lanewise", ...others };
}

export const unaryTraits: Readonly<Record<UnaryType, Traits>> = {
  Abs: lanewise(half(1, 13), { sameSince: 7, scale: "first", keepsDigits: true }),
  Acos: lanewise(half(7, 22), { sameSince: 7 }),
  Acosh: lanewise(half(9, 22), { sameSince: 9 }),
  Asin: lanewise(half(7, 22), { sameSince: 7 }),
  Asinh: lanewise(half(9, 22), { sameSince: 9 }),
  Atan: lanewise(half(7, 22), { sameSince: 7 }),
  Atanh: lanewise(half(9, 22), { sameSince: 9 }),
  Ceil: lanewise(half(1, 13), { sameSince: 7, keepsDigits: true }),
  Celu: lanewise(half(28, 28), { sameSince: 12 }),
  Cos: lanewise(half(7, 22, { risk: losesDigits("an angle loses its digits to whole turns") }), {
    sameSince: 7,
  }),
  Cosh: lanewise(half(9, 22, { risk: leavesRange("an exponential"), isWide: true }), { sameSince: 9 }),
  Elu: lanewise(half(1, 22), { sameSince: 7 }),
  Erf: lanewise(half(9, 13), { sameSince: 9 }),
  Exp: lanewise(half(1, 13, { risk: { kind: "exponential" }, isWide: true }), { sameSince: 7 }),
  Floor: lanewise(half(1, 13), { sameSince: 7, keepsDigits: true }),
  Gelu: lanewise(half(20, 20), { sameSince: 20 }),
  HardSigmoid: lanewise(half(1, 22), { sameSince: 7 }),
  HardSwish: lanewise(half(14, 22), { sameSince: 14 }),
  IsInf: lanewise(half(20, 20), { sameSince: 10 }),
  IsNaN: lanewise(half(9, 13), { sameSince: 9 }),
  LeakyRelu: lanewise(half(1, 16), { sameSince: 7, scale: "first" }),
  Log: lanewise(half(1, 13, { risk: leavesRange("a logarithm of numbers near zero"), isWide: true }), {
    sameSince: 7,
  }),
  Mish: lanewise(half(18, 22), { sameSince: 18 }),
  Neg: lanewise(half(1, 13), { sameSince: 7, scale: "first", keepsDigits: true }),
  Not: lanewise(noHalf(), { sameSince: 7, uses: { 0: { kind: "mask" } } }),
  Reciprocal: lanewise(half(1, 13, { isWide: true }), { sameSince: 7 }),
  Relu: lanewise(half(1, 13), { sameSince: 7, scale: "first", keepsDigits: true }),
  Round: lanewise(half(11, 22), { sameSince: 11, keepsDigits: true }),
  Selu: lanewise(half(1, 22), { sameSince: 7 }),
  Shrink: lanewise(half(9, undefined), { sameSince: 9 }),
  Sigmoid: lanewise(half(1, 13), { sameSince: 7 }),
  Sign: lanewise(half(9, 13), { sameSince: 9, keepsDigits: true }),
  Sin: lanewise(half(7, 22, { risk: losesDigits("an angle loses its digits to whole turns") }), {
    sameSince: 7,
  }),
  Sinh: lanewise(half(9, 22, { risk: leavesRange("an exponential"), isWide: true }), { sameSince: 9 }),
  Softplus: lanewise(half(1, 22), { sameSince: 7 }),
  Softsign: lanewise(half(1, 22), { sameSince: 7 }),
  Sqrt: lanewise(half(1, 13), { sameSince: 7 }),
  Swish: lanewise(half(24, 24)),
  Tan: lanewise(
    half(7, 22, { risk: losesDigits("an angle loses its digits to whole turns"), isWide: true }),
    { sameSince: 7 },
  ),
  Tanh: lanewise(half(1, 13), { sameSince: 7 }),
  ThresholdedRelu: lanewise(half(10, 22), { sameSince: 10 }),
  BitwiseNot: lanewise(noHalf(), { sameSince: 18 }),
};

const byOrder = () => ({ kind: "order" }) as const;

export const broadcastTraits: Readonly<Record<BroadcastType, Traits>> = {
  Add: lanewise(half(1, 13), { sameSince: 7, scale: "all", keepsDigits: true }),
  And: lanewise(noHalf(), { sameSince: 7, uses: { 0: { kind: "mask" }, 1: { kind: "mask" } } }),
  BitShift: lanewise(noHalf(), { sameSince: 11 }),
  BitwiseAnd: lanewise(noHalf(), { sameSince: 18 }),
  BitwiseOr: lanewise(noHalf(), { sameSince: 18 }),
  BitwiseXor: lanewise(noHalf(), { sameSince: 18 }),
  Div: lanewise(half(1, 13), { sameSince: 7, keepsDigits: true }),
  Equal: lanewise(half(11, 13), { sameSince: 7, decides: byOrder }),
  Greater: lanewise(half(1, 13), { sameSince: 7, decides: byOrder }),
  GreaterOrEqual: lanewise(half(12, 16), { sameSince: 12, decides: byOrder }),
  Less: lanewise(half(1, 13), { sameSince: 7, decides: byOrder }),
  LessOrEqual: lanewise(half(12, 16), { sameSince: 12, decides: byOrder }),
  Max: {
    elements: "picked",
    half: half(1, 13),
    layout: "lanewise",
    sameSince: 8,
    scale: "all",
    keepsDigits: true,
  },
  Mean: lanewise(half(1, 13), { sameSince: 8, scale: "all", keepsDigits: true }),
  Min: {
    elements: "picked",
    half: half(1, 13),
    layout: "lanewise",
    sameSince: 8,
    scale: "all",
    keepsDigits: true,
  },
  Mod: lanewise(half(10, 13, { risk: losesDigits("a remainder loses its digits to the quotient") }), {
    sameSince: 10,
    keepsDigits: true,
  }),
  Mul: lanewise(half(1, 13), { sameSince: 7, scale: "weight-either", keepsDigits: true }),
  Or: lanewise(noHalf(), { sameSince: 7, uses: { 0: { kind: "mask" }, 1: { kind: "mask" } } }),
  Pow: lanewise(half(1, 15, { risk: { kind: "power" }, isWide: true }), { sameSince: 7 }),
  Sub: lanewise(half(1, 13), { sameSince: 7, scale: "all", keepsDigits: true }),
  Sum: lanewise(half(1, 13), { sameSince: 8, scale: "all", keepsDigits: true }),
  Xor: lanewise(noHalf(), { sameSince: 7 }),
};
