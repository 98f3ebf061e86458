/** @file A rule that a plugin brought, as the run takes it. */
import type { Scope } from "../../facts/scope.ts";
import type { Edits } from "../../ir/edits.ts";
import type { InputError } from "../../ir/errors.ts";
import type { Node } from "../../ir/model.ts";
import type { Pattern } from "../pattern/pattern.ts";
import type { AnyRule } from "../rule.ts";

/** What a fix makes of one match. */
export interface FoundRewrite {
  readonly root: Node;
  readonly nodes: readonly Node[];
  readonly edit: (edits: Edits) => void;
}

/** The fix of a rule. */
export interface CustomRewriter {
  readonly code: string;
  /** What is wrong with it, as an error that names it. */
  readonly failed: (model: string, node: Node | undefined, what: string, cause?: unknown) => InputError;
  /** What it would do in one instance of a graph. */
  readonly rewrites: (scope: Scope, sizes: ReadonlyMap<string, number>) => Iterable<FoundRewrite>;
}

export interface CustomRule extends AnyRule {
  readonly plugin: string;
  /** Where the plugin is from. */
  readonly from: string;
  readonly description: string | undefined;
  readonly url: string | undefined;
  /** Undefined where the rule looks at the model itself. */
  readonly pattern: Pattern | undefined;
  /** Undefined where it has no fix. */
  readonly rewriter: CustomRewriter | undefined;
}

export function isCustom(rule: AnyRule): rule is CustomRule {
  return "plugin" in rule;
}
