/**
 * @file Half precision that nobody would choose: it is predicted to take longer than the file as it is stored, and no command is sure to gain by storing
 * it. What is said of the file is then said of it as it is stored (docs/adr/0042-told-as-stored.md).
 */
import { isHalf } from "../ir/fix-command.ts";
import { isMeasured } from "../workload/measured.ts";
import { pricedAt } from "../workload/priced-at.ts";
import type { Workload } from "../workload/workload.ts";
import type { FixSettings } from "./pipeline.ts";
import type { Ends } from "./taken-first.ts";

/** Of microseconds that are added up in another order. */
const rounding = 1e-6;

/** `file` is what the user has, on the target. A profile's ran as it was told, and half is a question of products: passes alone have none. */
export function isHalfLeft(
  file: Workload,
  { inHalf }: Pick<Ends, "inHalf">,
  { cost }: Pick<FixSettings, "cost">,
): boolean {
  const { target, timeline, products } = file;
  if (!isHalf(target.precision) || isMeasured(timeline.steps) || products.length === 0) return false;
  const stored = pricedAt(file, "as-is", cost).timeline.microseconds;
  if (timeline.microseconds <= stored + rounding) return false;
  return [false, true].every((isLaidOut) => inHalf(isLaidOut)?.isSure !== true);
}
