/** @file One network exported by TorchScript and by dynamo: both accounts on a stack, step by step, and what makes them differ. */
import { fix } from "../src/api/fix.ts";
import { lint } from "../src/api/lint.ts";
import type { StackId } from "../src/hardware/stacks.ts";
import { InputError } from "../src/ir/errors.ts";
import type { ModelReport } from "../src/lint/result.ts";
import { type AccountStep, type AccountStepName, accountSteps } from "../src/workload/account.ts";

/** Where the two files stand after a step that either of them has; microseconds of one run. */
export interface TwinStep {
  readonly step: AccountStepName;
  readonly script: number;
  readonly dynamo: number;
  /**
   * Why they differ: what findings of later steps claim of the TorchScript file, less what they claim of the dynamo file, by rule, and
   * under the precision's name what computing in it saves; 0 left out.
   */
  readonly causes: ReadonlyMap<string, number>;
}

/** Steps of lint's account but the last of a file in half, with what is listed of both files. Throws what linting throws. */
export async function twinSteps(script: string, dynamo: string, stack: StackId): Promise<TwinStep[]> {
  const [a, b] = await Promise.all([script, dynamo].map((path) => lint(path, { stack })));
  if (a === undefined || b === undefined) throw new Error("two files have two reports");
  return stepsBetween(a, b);
}

/** The same of reports that are there. */
export function stepsBetween(a: ModelReport, b: ModelReport): TwinStep[] {
  return aligned(a.account, b.account).map((each) => ({ ...each, causes: causesBehind(each.step, a, b) }));
}

/**
 * What the files take that `--fix` writes in half precision, in the types they store; undefined where half precision needs weights that
 * are not here. Throws InputError.
 */
export async function twinHalves(
  script: string,
  dynamo: string,
  stack: StackId,
): Promise<Omit<TwinStep, "causes"> | undefined> {
  const options = { stack, dryRun: true, half: "fp16", nhwc: true, nhwcOnlyWhereFaster: true } as const;
  try {
    const [a, b] = await Promise.all([script, dynamo].map((path) => fix(path, options)));
    const [last, other] = [a?.account?.at(-1), b?.account?.at(-1)];
    if (last === undefined || other === undefined) throw new Error("a fix has an account");
    return { step: "kept", script: last.microseconds, dynamo: other.microseconds };
  } catch (error) {
    if (error instanceof InputError && error.code === "weights-missing") return undefined;
    throw error;
  }
}

export function ratioOf({ script, dynamo }: Pick<TwinStep, "script" | "dynamo">): number {
  return script / dynamo;
}

/** The ratio as it would be without what the causes claim. */
export function explainedRatio({ script, dynamo, causes }: TwinStep): number {
  const claimed = [...causes.values()].reduce((sum, microseconds) => sum + microseconds, 0);
  return (script - claimed) / dynamo;
}

function aligned(a: readonly AccountStep[], b: readonly AccountStep[]): Omit<TwinStep, "causes">[] {
  const [script, dynamo] = [a, b].map(withoutWriting);
  let [last, other] = [Number.NaN, Number.NaN];
  return accountSteps.flatMap((step) => {
    const [own, others] = [script?.get(step), dynamo?.get(step)];
    [last, other] = [own ?? last, others ?? other];
    return own === undefined && others === undefined ? [] : [{ step, script: last, dynamo: other }];
  });
}

/** Times by step. What writing half takes is a line of its own, which only files have whose half is sure to gain. */
function withoutWriting(account: readonly AccountStep[]): Map<AccountStepName, number> {
  const costs = account.find(({ step }) => step === "kept")?.saves?.microseconds ?? 0;
  const others = account.filter(({ step }) => step !== "kept");
  return new Map(
    others.map(({ step, microseconds }) => [step, microseconds + (step === "author" ? costs : 0)]),
  );
}

function causesBehind(step: AccountStepName, a: ModelReport, b: ModelReport): Map<string, number> {
  const at = accountSteps.indexOf(step);
  const causes = new Map<string, number>();
  const add = (code: string, microseconds: number) =>
    causes.set(code, (causes.get(code) ?? 0) + microseconds);
  for (const [{ account, groups }, sign] of [
    [a, 1],
    [b, -1],
  ] as const) {
    const isBehind = (own: AccountStepName | null) => own !== null && accountSteps.indexOf(own) > at;
    // A file may be slower in half precision: no finding claims that.
    for (const { step: own, saves, precision } of account)
      if (own === "precision" && isBehind(own)) add(precision, sign * (saves?.microseconds ?? 0));
    for (const { code, step: own, saves } of groups)
      if (own !== "precision" && isBehind(own)) add(code, sign * (saves?.microseconds ?? 0));
  }
  return new Map([...causes].filter(([, microseconds]) => Math.abs(microseconds) > 1e-9));
}
