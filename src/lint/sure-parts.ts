/**
 * @file Parts of safe fixes that are told of the file as it is stored. They are decided in half, in which each is sure by itself, and made where they are
 * sure as a whole in the types that are stored as well: what is sure to be repaired is claimed, though a part by itself may save nothing there.
 */
import type { Decision } from "./decision.ts";
import type { RawFinding } from "./group.ts";

export function sureInParts(
  found: readonly RawFinding[],
  decision: Decision | undefined,
): readonly RawFinding[] {
  const whole = decision?.change.saves;
  if (whole === undefined || whole.low <= 0) return found;
  const sure = whole.low / whole.microseconds;
  return found.map((finding) => {
    const { fix, saves } = finding;
    if (fix !== "safe" || saves === null || saves.microseconds <= 0 || saves.low > 0) return finding;
    return { ...finding, saves: { ...saves, low: saves.microseconds * sure } };
  });
}
