/** @file How a step of a repair's account was taken: by the command that was given, which has the step's figures. */
import { isHalf } from "../ir/fix-command.ts";
import type { AccountStep } from "../lint/result.ts";

/** The flags of a repair, in order: `["--fix", "--layout", "nhwc"]`. */
export type RepairFlags = readonly string[];

/** Whether it may store half. What it leaves in other types is told in these: then no step of it is in half. */
export function mayStoreHalf(flags: RepairFlags): boolean {
  return flags.includes("--precision") || flags.includes("--unsafe-fixes");
}

/** The command, where it is what takes the step; undefined where that is told as it is of a model that nobody repairs. */
export function givenFor(
  { step, precision, needsHalf }: Pick<AccountStep, "step" | "precision" | "needsHalf">,
  flags: RepairFlags,
): string | undefined {
  const isGiven = {
    exported: false,
    precision: isHalf(precision) && mayStoreHalf(flags),
    // What `--fix` alone makes, it makes in the target's precision.
    safe: needsHalf === true || precision === "as-is",
    half: true,
    layout: true,
    kept: false,
    author: false,
  } as const satisfies Record<AccountStep["step"], boolean>;
  return isGiven[step] ? flags.join(" ") : undefined;
}
