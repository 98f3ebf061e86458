/** @file An account that is told in half: whether a command stores it. */
import { type Half, isHalf, namesPrecision } from "./fix-command.ts";

interface Told {
  readonly step: string;
  readonly precision: string;
  readonly command?: string;
  readonly measured?: true;
  readonly written?: { readonly low: number };
  readonly needsHalf?: true;
}

/** The half that steps are told in, where no step's command stores it: nobody is told to. A profile's ran as it was told. */
export function unreachedHalf(account: readonly Told[]): Half | undefined {
  const half = account.find(isToHalf)?.precision;
  const isReached = account.some((step) => step.measured === true || storesHalf(step));
  return half === undefined || !isHalf(half) || isReached ? undefined : half;
}

export function isToHalf({ step, precision }: Pick<Told, "step" | "precision">): boolean {
  return (step === "precision" || step === "half") && isHalf(precision);
}

/** `--unsafe-fixes` leaves the types of a file whose step says what it saves as stored. */
function storesHalf({ command, step, written }: Told): boolean {
  if (command === undefined) return false;
  return namesPrecision(command) || (step === "layout" && written === undefined);
}

/**
 * `--min-saving beyond --fix alone`: what a file in half, whose command nobody is told, falls short of though it is sure to gain; undefined of one that may save nothing.
 */
export function belowThreshold(account: readonly Told[]): string | undefined {
  const kept = account.find(({ step, command }) => step === "kept" && command === undefined);
  if (!((kept?.written?.low ?? 0) > 0)) return undefined;
  const isFixed = account.some(({ step, needsHalf }) => step === "safe" && needsHalf !== true);
  return `--min-saving${isFixed ? " beyond --fix alone" : ""}`;
}
