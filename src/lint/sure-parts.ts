/**
 * @file Parts of safe fixes that are told of the file as it is stored. They are decided in half, in which each is sure by itself, and made where they are
 * sure as a whole in the types that are stored as well: what is sure to be repaired is claimed, though a part by itself may save nothing there.
 */
import { groupBy } from "../ir/group.ts";
import type { Decision } from "./decision.ts";
import type { RawFinding } from "./group.ts";

/** `inHalf` is what is found of the file in half. */
export function sureInParts(
  found: readonly RawFinding[],
  inHalf: readonly RawFinding[],
  decision: Decision | undefined,
): readonly RawFinding[] {
  const whole = decision?.change.saves;
  if (whole === undefined || whole.low <= 0) return found;
  const part = whole.low / whole.microseconds;
  const sure = groupBy(
    inHalf.filter(({ fix, saves }) => fix === "safe" && (saves?.low ?? 0) > 0),
    ({ raw }) => raw.at.node,
  );
  return found.map((finding) => {
    const { fix, saves, raw, rule } = finding;
    if (fix !== "safe" || saves === null || saves.microseconds <= 0 || saves.low > 0) return finding;
    const isSure = sure.get(raw.at.node)?.some((each) => each.rule === rule) === true;
    return isSure ? { ...finding, saves: { ...saves, low: saves.microseconds * part } } : finding;
  });
}
