/** @file What a change is to answer for. */
import type { Finding } from "../lint/result.ts";
import type { FindingChange } from "./result.ts";

/** Findings that are new, and those that are worse. */
export function freshOf(findings: Pick<FindingChange, "new" | "worse">): readonly Finding[] {
  return [...findings.new, ...findings.worse];
}
