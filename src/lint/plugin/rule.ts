/** @file How a rule of one's own is written: as the built-in ones, or as a pattern with what is to be said of it. */
import type { Edits } from "../../ir/edits.ts";
import type { LintContext, Saving } from "../context.ts";
import type { Match } from "../pattern/match.ts";
import type { Pattern, PatternBuilder } from "../pattern/pattern.ts";
import type { Datum } from "../result.ts";
import type { Rule, RuleFinding } from "../rule.ts";
import type { MatchCost } from "./cost.ts";

type Messages = Readonly<Record<string, string>>;

interface About<M extends Messages> extends Pick<Rule<M>, "severity" | "messages"> {
  /** kebab-case, names the flaw; reports have it behind the plugin's: `acme/no-big-softmax`. */
  readonly name: string;
  /** One line, for lists and SARIF. */
  readonly description?: string;
  /** A page about it. */
  readonly url?: string;
}

/** What a rule says of a match; undefined where it is none after all. */
export interface Report<M extends Messages = Messages> {
  readonly message: keyof M & string;
  readonly data?: Readonly<Record<string, Datum>>;
}

/** A rule that looks at the model itself, as the built-in ones do. */
export interface CheckRule<M extends Messages = Messages> extends About<M> {
  readonly check: (context: LintContext) => Iterable<RuleFinding<M>>;
  readonly match?: undefined;
}

/** A rule that says what it looks for. */
export interface PatternRule<
  M extends Messages = Messages,
  Nodes extends string = string,
  Values extends string = string,
> extends About<M> {
  readonly match: (p: PatternBuilder) => Pattern<Nodes, Values>;
  /** The first message without data, unless given. */
  readonly report?: (match: Match<Nodes, Values>) => Report<M> | undefined;
  /** The node that findings are at: the one that the pattern ends in, unless given. */
  readonly at?: Nodes;
  /** What a run of the model would save; undefined where that is not known. Never more than its nodes take. */
  readonly cost?: (match: Match<Nodes, Values>, cost: MatchCost) => Saving | undefined;
  /** What is to become of the match: `--fix` makes it where it is predicted to save time, and ONNX Runtime computes the same. */
  readonly fix?: (match: Match<Nodes, Values>, edits: Edits) => void;
  readonly check?: undefined;
}

export type PluginRule = CheckRule | PatternRule;

export interface Plugin {
  /** kebab-case: what the codes of its rules begin with. */
  readonly name: string;
  readonly rules: readonly PluginRule[];
}

/** A rule with its messages, and the names of its pattern, checked by the compiler; what it gives back has forgotten them. */
export function defineRule<const M extends Messages, Nodes extends string, Values extends string>(
  rule: PatternRule<M, Nodes, Values>,
): PatternRule;
export function defineRule<const M extends Messages>(rule: CheckRule<M>): CheckRule;
export function defineRule(rule: unknown): unknown {
  return rule;
}

/** Returns its argument: editors check and complete it. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
