/** @file What the stack joins only where sizes are bound: the account prices symbols as if they were, which is advice as well. */
import { openSymbols } from "../ir/assumed.ts";
import { counted, duration } from "../ir/format.ts";
import { type LeftApart, leftApart } from "../workload/written-free.ts";
import type { LintContext } from "./context.ts";
import type { NoticeReport } from "./result.ts";
import type { LintSettings } from "./run.ts";

export function freeSizeNotices(
  context: LintContext,
  { minSaving }: Pick<LintSettings, "minSaving">,
): NoticeReport[] {
  const { cost, target, facts, bindings } = context;
  const timeOf = ({ work, runs }: LeftApart) => cost.estimate(work, target).microseconds * runs;
  const apart = leftApart(context);
  const time = apart.reduce((sum, each) => sum + timeOf(each), 0);
  if (time === 0 || context.share(time) < minSaving) return [];
  const names = openSymbols([...facts.symbols], Object.fromEntries(bindings));
  const kernels = apart.reduce((sum, { runs }) => sum + runs, 0);
  const [verb, it] = names.length > 1 ? ["cost", "them"] : ["costs", "it"];
  const message = `left free, ${names.join(", ")} ${verb} ONNX Runtime ${counted(kernels, "kernel")} more (${duration(time)}): override ${it} in the session, or export fixed`;
  return [{ code: "free-sizes", message }];
}
