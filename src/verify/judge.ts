/** @file Outputs of the candidate against those of the original, each within its budget. */
import { maxOf } from "../ir/lists.ts";
import { forgive } from "./beyond.ts";
import {
  type Allowance,
  type Budget,
  codesAllowance,
  halfAllowance,
  isWithin,
  relativeAllowance,
  type Sensitivity,
} from "./budget.ts";
import { compareTensors, type Difference } from "./compare.ts";
import { drawText, type Run } from "./plan.ts";
import type { OutputReport } from "./report.ts";
import { isFloatTensor, numbersOf, type Tensor, type Tensors } from "./tensor.ts";
import type { Ties } from "./ties.ts";

/** One run of the candidate. */
export interface Judged {
  readonly run: Run;
  readonly outputs: readonly OutputReport[];
  /** Elements that are NaN beyond what a fix assumes, by output: counted, not compared. */
  readonly beyond: ReadonlyMap<string, number>;
}

export interface Evidence {
  readonly budget: Budget;
  /** What the original gives with weights and inputs rounded to half; there under a half budget. */
  readonly rounded: Tensors | undefined;
  /** What the original gives computed in other ways. Asked for only where a limit is passed. */
  readonly variants: (run: Run) => Promise<readonly Tensors[]>;
  /**
   * What the original gives with every infinity of the inputs negated; undefined where none is. Left out where nothing
   * is assumed of what products read. Asked for as `variants` are.
   */
  readonly mirrored: ((run: Run) => Promise<Tensors | undefined>) | undefined;
  /** Which decisions of an output are ties; asked for only where some come out otherwise under a half budget. */
  readonly ties?: (run: Run, output: string) => Promise<Ties | undefined>;
}

/** Compares every output of one run. */
export async function judge(run: Run, actual: Tensors, evidence: Evidence): Promise<Judged> {
  const judged = (found: Tensors, variants: readonly Tensors[]) =>
    [...run.expected].map(([name, expected]) => {
      const others = variants.flatMap((variant) => variant.get(name) ?? []);
      return judgeOutput({ name, run, expected, actual: found.get(name), evidence, others });
    });
  const strict = judged(actual, []);
  const differs = strict.some(({ same, difference }) => !same && (difference?.mismatches ?? 0) > 0);
  const { found, beyond } = differs ? await forgiven(run, actual, evidence) : asTheyAre(actual);
  const outputs = beyond.size > 0 ? judged(found, []) : strict;
  const isExcusable = outputs.some((output) => isVariable(output, run, evidence.budget));
  const own = isExcusable ? judged(found, await evidence.variants(run)) : outputs;
  return { run, outputs: await decided(own, run, found, evidence), beyond };
}

/** With decisions that rounding turns held to the values that decide them, where these are known. */
async function decided(
  outputs: readonly OutputReport[],
  run: Run,
  actual: Tensors,
  { budget, ties: tiesOf }: Evidence,
): Promise<readonly OutputReport[]> {
  if (budget.kind !== "half" || tiesOf === undefined) return outputs;
  const results: OutputReport[] = [];
  for (const output of outputs) {
    const [expected, found] = [run.expected.get(output.name), actual.get(output.name)];
    const isTurned =
      expected !== undefined && !isFloatTensor(expected) && (output.difference?.mismatches ?? 0) > 0;
    const ties = isTurned && expected.dtype !== "string" ? await tiesOf(run, output.name) : undefined;
    results.push(
      ties !== undefined && expected !== undefined && found !== undefined
        ? tied(output, ties, expected, found)
        : output,
    );
  }
  return results;
}

function tied(output: OutputReport, ties: Ties, expected: Tensor, found: Tensor): OutputReport {
  const { allowed } = output;
  if (allowed === undefined) return output;
  const [wanted, actual] = [numbersOf(expected), numbersOf(found)];
  let [count, unexplained] = [0, 0];
  for (let index = 0; index < wanted.length; index++) {
    if (ties.isTie(index)) count += 1;
    const value = actual[index] ?? Number.NaN;
    if (value !== wanted[index] && !ties.explains(index, value)) unexplained += 1;
  }
  const { of, within, largest } = ties;
  return {
    ...output,
    same: unexplained === 0,
    allowed: { ...allowed, mismatches: count },
    ties: { of, within, largest, unexplained },
  };
}

interface Forgiveness {
  readonly found: Tensors;
  readonly beyond: Judged["beyond"];
}

function asTheyAre(found: Tensors): Forgiveness {
  return { found, beyond: new Map() };
}

/** Without what is NaN beyond what a fix assumes. */
async function forgiven(run: Run, actual: Tensors, { mirrored }: Evidence): Promise<Forgiveness> {
  if (mirrored === undefined || run.mayBeInfinite !== true) return asTheyAre(actual);
  const others = await mirrored(run);
  const found = new Map(actual);
  const beyond = new Map<string, number>();
  for (const [name, expected] of run.expected) {
    const tensor = actual.get(name);
    if (tensor === undefined) continue;
    const result = forgive(expected, tensor, others?.get(name));
    if (result.count === 0) continue;
    found.set(name, result.tensor);
    beyond.set(name, result.count);
  }
  return { found, beyond };
}

/** Whether the original's own rounding may explain a failure: of errors under a relative budget, of what has overflowed. */
function isVariable({ name, same, difference }: OutputReport, { expected }: Run, budget: Budget): boolean {
  const wanted = expected.get(name);
  if (same || difference === undefined || wanted === undefined) return false;
  if (!isFloatTensor(wanted)) return roundsToCodes(budget);
  return difference.mismatches > 0 || budget.kind === "relative";
}

function roundsToCodes(budget: Budget): boolean {
  return budget.kind === "relative" && budget.codesFactor !== undefined;
}

interface OutputTask {
  readonly name: string;
  readonly run: Run;
  readonly expected: Tensor;
  readonly actual: Tensor | undefined;
  readonly evidence: Evidence;
  /** The same output of the original, computed in other ways. */
  readonly others: readonly Tensor[];
}

function judgeOutput({ name, run, expected, actual, evidence, others }: OutputTask): OutputReport {
  const { dtype, dims } = expected;
  const common = { name, dtype, dims, draw: drawText(run.draw) };
  const problem = problemOf(expected, actual, evidence.budget);
  if (problem !== undefined || actual === undefined) {
    return { ...common, same: false, problem, difference: undefined, allowed: undefined };
  }
  const comparable = others.filter(
    (other) =>
      (isFloatTensor(other) || roundsToCodes(evidence.budget)) &&
      problemOf(expected, other, evidence.budget) === undefined,
  );
  const difference = compareTensors(expected, actual, comparable);
  const ways = comparable.map((other) => compareTensors(expected, other, comparable));
  const most = (measure: keyof Sensitivity) => Math.max(0, maxOf(ways.map((each) => each[measure])));
  const moved: Sensitivity = {
    maximumError: most("maximumError"),
    rootMeanSquareError: most("rootMeanSquareError"),
    mismatches: isFloatTensor(expected) ? 0 : most("mismatches"),
  };
  const unusual = run.isUnusual === true;
  const allowed = allowanceOf(difference, name, expected, evidence, { moved, unusual });
  return { ...common, same: isWithin(difference, allowed), problem: undefined, difference, allowed };
}

function problemOf(expected: Tensor, actual: Tensor | undefined, budget: Budget): string | undefined {
  if (actual === undefined) return "is missing";
  if (expected.dims.join() !== actual.dims.join()) {
    return `has shape [${actual.dims.join(",")}], expected [${expected.dims.join(",")}]`;
  }
  if (expected.dtype === actual.dtype) return undefined;
  const isFloat = (dtype: string) => dtype.startsWith("float") || dtype === "bfloat16";
  if (budget.kind === "half" && isFloat(expected.dtype) && isFloat(actual.dtype)) return undefined;
  return `is ${actual.dtype}, expected ${expected.dtype}`;
}

function allowanceOf(
  difference: Difference,
  name: string,
  expected: Tensor,
  { budget, rounded }: Evidence,
  { moved, unusual }: { readonly moved: Sensitivity; readonly unusual: boolean },
): Allowance {
  if (budget.kind === "relative") {
    const { tolerance, codesFactor: factor } = budget;
    return factor === undefined
      ? relativeAllowance(tolerance, difference, moved.maximumError, unusual)
      : codesAllowance({ tolerance, factor }, difference, moved);
  }
  const other = rounded?.get(name);
  const own = other === undefined ? compareTensors(expected, expected) : compareTensors(expected, other);
  return halfAllowance(budget, difference, own);
}

/** Of each output, the run where it came nearest to its limit, or passed it. */
export function worstOutputs(judged: readonly Pick<Judged, "outputs">[]): OutputReport[] {
  const worst = new Map<string, OutputReport>();
  for (const output of judged.flatMap(({ outputs }) => outputs)) {
    const known = worst.get(output.name);
    if (known === undefined || shareOf(output) > shareOf(known)) worst.set(output.name, output);
  }
  return [...worst.values()];
}

/** How much of its budget a difference uses; above 1 it fails. */
function shareOf({ difference, allowed, same }: OutputReport): number {
  if (difference === undefined || allowed === undefined) return Number.POSITIVE_INFINITY;
  const part = (value: number, limit: number) => (value === 0 ? 0 : value / limit);
  const share = Math.max(
    part(difference.mismatches, allowed.mismatches),
    part(difference.maximumError, allowed.maximumError),
    part(difference.rootMeanSquareError, allowed.rootMeanSquareError),
  );
  return same ? Math.min(share, 1) : share + 1;
}
