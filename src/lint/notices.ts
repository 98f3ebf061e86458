/** @file What inference noticed that is odd, but no finding: it wastes no time on a GPU. */
import type { Facts } from "../facts/infer.ts";
import type { NoticeReport } from "./result.ts";

/** Declared shapes or types that are not what the operators make of them: the operators are believed. */
export function contradictionNotices({ contradictions }: Facts): NoticeReport[] {
  const [first] = contradictions;
  if (first === undefined) return [];
  const more = contradictions.length > 1 ? ` (and ${contradictions.length - 1} more)` : "";
  const message = `the declared type of "${first.value.name}" is not what its operator makes${more}; the operators are believed`;
  return [{ code: "contradiction", message }];
}
