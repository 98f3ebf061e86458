/**
 * @file The sum of two numbers that codes of a byte stand for, as a code again, in two multiplications. A graph rounds four times on the way
 * (each number, their sum, its quotient) and kernels did as it says: 16 instructions for each result. Of two codes there are 65,536
 * pairs, so that all can be tried: the factors here give the graph's code for every one of them.
 */
import { type CodeNumbers, codeRange } from "./codes.ts";

const { fround, min, max } = Math;

/** Floats from here on have no fraction, also where a small number is taken off. */
export const wholeFrom = 3 * 2 ** 22;
const codeCount = 256;
/** Distances from the rounded factors that are tried: 198 of 200 drawn sums have their factors within 12. */
const mostSteps = 12;

export interface CodeSum {
  readonly own: number;
  readonly other: number;
  readonly low: number;
  readonly high: number;
  readonly whole: number;
}

export interface SummedCodes {
  readonly own: CodeNumbers;
  readonly other: CodeNumbers;
  readonly to: CodeNumbers;
  readonly hasRelu: boolean;
}

const known = new Map<string, CodeSum | undefined>();
const mostKnown = 4096;

/** Undefined: no factors near by give every pair's code. */
export function sumOfCodes(codes: SummedCodes): CodeSum | undefined {
  const key = JSON.stringify(codes);
  if (!known.has(key)) {
    if (known.size >= mostKnown) known.clear();
    known.set(key, search(codes));
  }
  return known.get(key);
}

function search(codes: SummedCodes): CodeSum | undefined {
  const { own, other, to, hasRelu } = codes;
  const ratio = own.scale / other.scale;
  // Products of codes and factors are added exactly in doubles, and rounded once as the kernel's are.
  if (!(ratio >= 2 ** -16 && ratio <= 2 ** 16)) return undefined;
  const [least, most] = codeRange(to.type);
  const low = hasRelu ? max(0, least - to.zero) : least - to.zero;
  const bounds = { low, high: most - to.zero, whole: wholeFrom + to.zero };
  const wanted = codesByGraph(codes);
  // Pairs that factors failed at: others fail there first.
  const hard: number[] = [];
  for (const [ofOwn, ofOther] of stepsOutward()) {
    const sum = {
      own: stepped(own.scale / to.scale, ofOwn),
      other: stepped(other.scale / to.scale, ofOther),
      ...bounds,
    };
    const failed = firstFailure(codes, sum, wanted, hard);
    if (failed === undefined) return sum;
    hard.unshift(failed);
  }
  return undefined;
}

/** As the graph says, pair by pair: each step rounded to a float. */
function codesByGraph({ own, other, to, hasRelu }: SummedCodes): Int16Array {
  const [least, most] = codeRange(to.type);
  const codes = new Int16Array(codeCount ** 2);
  for (let pair = 0; pair < codes.length; pair++) {
    const [a, b] = differences(pair, own, other);
    const sum = fround(fround(a * own.scale) + fround(b * other.scale));
    const real = hasRelu ? max(sum, 0) : sum;
    const quotient = min(max(fround(real / to.scale), least - to.zero), most - to.zero);
    codes[pair] = fround(quotient + wholeFrom) - wholeFrom + to.zero;
  }
  return codes;
}

function firstFailure(
  codes: SummedCodes,
  sum: CodeSum,
  wanted: Int16Array,
  hard: readonly number[],
): number | undefined {
  const fails = (pair: number) => codeByFactors(codes, sum, pair) !== wanted[pair];
  const again = hard.find(fails);
  if (again !== undefined) return again;
  for (let pair = 0; pair < wanted.length; pair++) if (fails(pair)) return pair;
  return undefined;
}

/** As the kernel computes it. */
function codeByFactors({ own, other }: SummedCodes, sum: CodeSum, pair: number): number {
  const [a, b] = differences(pair, own, other);
  const scaled = fround(a * sum.own + fround(b * sum.other));
  return fround(min(max(scaled, sum.low), sum.high) + sum.whole) - wholeFrom;
}

/** What both codes of a pair are above their zero points. */
function differences(pair: number, own: CodeNumbers, other: CodeNumbers): readonly [number, number] {
  const [first] = codeRange(own.type);
  const [second] = codeRange(other.type);
  return [first + (pair >> 8) - own.zero, second + (pair & 255) - other.zero];
}

/** Pairs of steps, the smallest first. */
function stepsOutward(): readonly (readonly [number, number])[] {
  const steps = Array.from({ length: 2 * mostSteps + 1 }, (_, at) => at - mostSteps);
  const pairs = steps.flatMap((a) => steps.map((b) => [a, b] as const));
  const size = ([a, b]: readonly [number, number]) => Math.abs(a) + Math.abs(b);
  return pairs.sort((one, next) => size(one) - size(next));
}

const bits = new DataView(new ArrayBuffer(4));

/** The float that is `steps` after the one nearest to a positive number. */
function stepped(value: number, steps: number): number {
  bits.setFloat32(0, value);
  bits.setInt32(0, bits.getInt32(0) + steps);
  return bits.getFloat32(0);
}
