/**
 * @file A plan of blocks that repeat, as a text that a person reads: each kind of step once, the first of it in full, and how
 * many there are, with a hash of all of them. A step that changes shows as the hash of its kind.
 */
import { createHash } from "node:crypto";

/** From the text of `describePlan`; lines that are no steps stay as they are. */
export function digestPlan(text: string): string {
  const shown = text
    .split("\n\n")
    .map((part) => {
      const [title = "", ...steps] = part.split("\n");
      return title === "prepare" || title === "run" ? [title, ...digest(steps)].join("\n") : part;
    })
    .join("\n\n");
  // The order of steps of different kinds shows here alone.
  return `${shown}whole text ${hashOf(text)}\n`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

function digest(steps: readonly string[]): string[] {
  const kinds = new Map<string, string[]>();
  for (const step of steps) {
    const kind = kindOf(step);
    const same = kinds.get(kind);
    if (same === undefined) kinds.set(kind, [step]);
    else same.push(step);
  }
  return [...kinds.values()].map((same) => {
    const [first = "", ...others] = same;
    if (others.length === 0) return first;
    return `${first}\n     and ${others.length} more like it, all of them ${hashOf(same.map(withoutIndex).join("\n"))}`;
  });
}

/** Kernel, what a chain does, and operator: what is computed, whatever the sizes. */
function kindOf(step: string): string {
  const [kernel] = withoutIndex(step).split(" ");
  const chain = /\d+ ops, \d+ reads/.exec(step)?.[0] ?? "";
  const operator = step.split("  ").at(-1)?.split(" ")[0];
  return `${kernel} ${chain} ${operator}`;
}

/** A step that comes or goes moves every index behind it. */
function withoutIndex(step: string): string {
  return step.replace(/^ *\d+ /, "");
}
