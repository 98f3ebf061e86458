/** @file What its user sets on the stack, and no file has: said beside an account whose rows are of files. */

import type { Target } from "../hardware/target.ts";
import { isHalf } from "../ir/fix-command.ts";
import { duration, savingRange } from "../ir/format.ts";
import { labelOf } from "../ir/model.ts";
import { isBranching, loopKind } from "../ops/ask.ts";
import { changeBetween } from "../workload/change.ts";
import { pricedAt } from "../workload/priced-at.ts";
import type { LintContext } from "./context.ts";
import type { NoticeReport } from "./result.ts";
import type { LintSettings } from "./run.ts";

/** `asked` is the target, in the precision that it was asked in. */
export function settingNotices(
  context: LintContext,
  asked: Target,
  { minSaving }: Pick<LintSettings, "minSaving">,
): NoticeReport[] {
  return [
    ...halfNotices(context, asked),
    ...tf32Notices(context, asked, minSaving),
    ...graphNotices(context, asked),
  ];
}

/** Whether there are products that the stack multiplies in FP32 as the file is stored. */
function hasFp32({ products }: LintContext): boolean {
  return products.some(({ sizes }) => sizes.dtype === "float32");
}

function halfNotices(context: LintContext, { stack, precision }: Target): NoticeReport[] {
  const flag = isHalf(precision) ? stack.settings.half?.[precision] : undefined;
  if (flag === undefined || context.isMeasured || !hasFp32(context)) return [];
  const message = `${stack.name} takes ${precision.toUpperCase()} by a flag, of the file as it is: measure ${flag} before a file is written`;
  return [{ code: "half-by-flag", message }];
}

function tf32Notices(context: LintContext, asked: Target, minSaving: number): NoticeReport[] {
  const { settings, name } = asked.stack;
  if (settings.tf32 === undefined || context.isMeasured || !hasFp32(context)) return [];
  if (asked.precision === "tf32")
    return [{ code: "tf32-by-setting", message: `TF32 is a setting of ${name}: ${settings.tf32}` }];
  if (!isHalf(asked.precision)) return [];
  const stored = context.asStored();
  const inTf32 = pricedAt(stored, "tf32", context.cost);
  const { saves } = changeBetween(stored, inTf32, context.cost);
  const before = stored.timeline.microseconds;
  if (!(saves.low > 0 && saves.microseconds >= minSaving * before)) return [];
  const message = `TF32 alone: ${duration(before)} → ${duration(inTf32.timeline.microseconds)} (saves ${savingRange(saves, before)}), by ${settings.tf32}`;
  return [{ code: "tf32-by-setting", message }];
}

/** Branches and loops are decided by the host. */
function graphNotices({ timeline, facts }: LintContext, { stack }: Target): NoticeReport[] {
  const { straightGraph } = stack.settings;
  const node = facts.root.graph.nodes.find((each) => isBranching(each) || loopKind(each) !== undefined);
  if (straightGraph === undefined || node === undefined || timeline.steps.length === 0) return [];
  const message = `"${labelOf(node)}" (${node.opType}) is control flow, of which ${stack.id} captures no CUDA graph (${straightGraph}): what launches take that wait for the host is in no time here`;
  return [{ code: "no-cuda-graph", message }];
}
