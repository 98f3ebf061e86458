/** @file How a step of a repair's account was taken: by the command that was given, which has the step's figures. */
import { isHalf } from "../ir/fix-command.ts";
import type { AccountStep } from "../workload/account.ts";

/** `flags` are those of the repair, in order: `["--fix", "--layout", "nhwc"]`. */
export function withGiven(account: readonly AccountStep[], flags: readonly string[]): AccountStep[] {
  return account.map((step) => {
    const command = givenFor(step, flags);
    return command === undefined ? step : { ...step, command };
  });
}

/** Undefined of what the command does not take, and is told as it is of a model that nobody repairs. */
function givenFor(
  { step, precision, needsHalf }: Pick<AccountStep, "step" | "precision" | "needsHalf">,
  flags: readonly string[],
): string | undefined {
  const given = flags.join(" ");
  const commands = {
    exported: undefined,
    precision: isHalf(precision) && mayStoreHalf(flags) ? given : undefined,
    // What `--fix` alone makes, it makes in the target's precision.
    safe: needsHalf === true || precision === "as-is" ? given : "--fix",
    half: given,
    layout: given,
    kept: undefined,
    author: undefined,
  } as const satisfies Record<AccountStep["step"], string | undefined>;
  return commands[step];
}

/** Whether it may store half. What it leaves in other types is told in these: then no step of it is in half. */
function mayStoreHalf(flags: readonly string[]): boolean {
  return flags.includes("--precision") || flags.includes("--unsafe-fixes");
}
