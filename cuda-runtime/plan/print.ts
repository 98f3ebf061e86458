/** @file A plan as text: one line a step, so that two plans can be compared by eye and by diff. */
import { pushAll } from "../../src/ir/lists.ts";
import { type Action, type Plan, type Step, touched } from "../ir/step.ts";
import { describeView } from "../ir/view.ts";

export function describePlan(plan: Plan): string {
  const lines: string[] = [];
  for (const { name, view } of plan.inputs) lines.push(`input ${name} ${describeView(view)}`);
  if (plan.prepare.length > 0)
    pushAll(lines, ["", "prepare", ...plan.prepare.map((step, index) => line(step, index))]);
  pushAll(lines, ["", "run", ...plan.steps.map((step, index) => line(step, index)), ""]);
  for (const { name, view } of plan.outputs) lines.push(`output ${name} ${describeView(view)}`);
  return `${lines.join("\n")}\n`;
}

function line({ action, label, operator, lane = 0, waits = [] }: Step, index: number): string {
  const [reads, writes] = touched(action);
  const views = `${reads.map(describeView).join(" ")} -> ${writes.map(describeView).join(" ")}`;
  const beside = action.runShare === undefined ? "" : `  beside others on lane ${lane}`;
  const behind = waits.length === 0 ? "" : `  behind ${waits.join(", ")}`;
  return `${String(index).padStart(4)} ${describeAction(action)}  ${views}  ${operator} ${label}${beside}${behind}`;
}

function describeAction(action: Action): string {
  if (action.kind === "clear") return "clear";
  const { kernel, grid, block, detail } = action.launch;
  // The name of a generated kernel is a hash of its text.
  const name = kernel.kind === "built" ? `${kernel.family}/${kernel.entry}` : "chain";
  const size = `${grid.filter((size, at) => at === 0 || size > 1).join("x")}·${block.filter((size, at) => at === 0 || size > 1).join("x")}`;
  return `${name} <${size}>${detail === undefined ? "" : ` ${detail}`}`;
}
