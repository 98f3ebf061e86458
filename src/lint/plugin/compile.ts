/** @file Rules of plugins as the run takes them: with codes of their own, checked, and what they throw laid to them. */
import type { Scope } from "../../facts/scope.ts";
import type { Edits } from "../../ir/edits.ts";
import type { LintContext, Saving } from "../context.ts";
import { atOnce, quoted, WrongAnswer } from "../pattern/answers.ts";
import { type Match, matchesIn } from "../pattern/match.ts";
import { Pattern, patterns, rootTypes } from "../pattern/pattern.ts";
import type { RuleFinding, Site } from "../rule.ts";
import { Blame, type PluginOrigin } from "./blame.ts";
import { checkPlugin } from "./check.ts";
import { MatchCost } from "./cost.ts";
import type { CustomRule } from "./custom-rule.ts";
import { checkedFinding } from "./finding.ts";
import { immutable } from "./immutable.ts";
import type { CheckRule, PatternRule, Plugin, Report } from "./rule.ts";

/** Throws InputError `bad-plugin` naming `from` and what is wrong. */
export function rulesOfPlugin(value: unknown, from: string, isOurs: PluginOrigin["isOurs"]): CustomRule[] {
  const plugin: Plugin = checkPlugin(value, from);
  return plugin.rules.map((rule) => {
    const code = `${plugin.name}/${rule.name}`;
    const blame = new Blame({ plugin: plugin.name, from, isOurs }, code);
    return rule.check === undefined
      ? patternRule(rule, { plugin, from, code, blame })
      : checkRule(rule, { plugin, from, code, blame });
  });
}

interface Compiled {
  readonly plugin: Plugin;
  readonly from: string;
  readonly code: string;
  readonly blame: Blame;
}

function commonOf({ severity, messages, description, url }: PatternRule | CheckRule, compiled: Compiled) {
  const { plugin, from, code } = compiled;
  return { code, name: code, severity, messages, description, url, plugin: plugin.name, from };
}

function checkRule(rule: CheckRule, compiled: Compiled): CustomRule {
  const { blame } = compiled;
  return {
    ...commonOf(rule, compiled),
    fix: "none",
    pattern: undefined,
    rewriter: undefined,
    *check(context) {
      const { path } = context.model;
      immutable(context.model);
      const findings = blame.run(path, undefined, () => iteratorOf(rule.check(context)));
      for (;;) {
        const next = blame.run(path, undefined, () => findings.next());
        if (next.done === true) return;
        yield checkedFinding(next.value, rule.messages, (node, what) => blame.error(path, node, what));
      }
    },
  };
}

function patternRule(rule: PatternRule, compiled: Compiled): CustomRule {
  const { blame, from } = compiled;
  const pattern = blame.run(from, undefined, () => {
    const made: unknown = atOnce("match", rule.match(patterns));
    if (!(made instanceof Pattern))
      throw new WrongAnswer(`match gave ${quoted(made)}, expected a pattern, such as p.op("Conv")`);
    // Says what is wrong with a pattern that ends in none.
    rootTypes(made);
    return made;
  });
  const { fix } = rule;
  const found = (model: string, scope: Scope, sizes: ReadonlyMap<string, number>) =>
    matchesIn(pattern, scope, sizes, (node, work) => blame.run(model, node, work));
  return {
    ...commonOf(rule, compiled),
    fix: fix === undefined ? "none" : "safe",
    // What claims no time is about the file, not about what repairs leave of it.
    ...(fix === undefined && rule.cost === undefined ? { saves: "nothing" } : {}),
    pattern,
    *check(context) {
      const { path } = context.model;
      immutable(context.model);
      for (const scope of context.facts.scopes()) {
        for (const match of found(path, scope, context.bindings)) {
          const finding = blame.run(path, match.root, () => findingOf(rule, match, context));
          if (finding !== undefined)
            yield checkedFinding(finding, rule.messages, (node, what) => blame.error(path, node, what));
        }
      }
    },
    rewriter: fix && { code: compiled.code, failed: blame.error.bind(blame), rewrites },
  };

  function* rewrites(scope: Scope, sizes: ReadonlyMap<string, number>) {
    const { path } = scope.model;
    immutable(scope.model);
    for (const match of found(path, scope, sizes)) {
      if (blame.run(path, match.root, () => reportOf(rule, match)) === undefined) continue;
      const edit = (edits: Edits) =>
        blame.run(path, match.root, () => void atOnce("fix", fix?.(match, edits) as unknown));
      yield { root: match.root, nodes: match.nodes, edit };
    }
  }
}

/** Of `check`, or of a generator. */
function iteratorOf(findings: unknown): Iterator<RuleFinding> {
  const known = atOnce("check", findings);
  if (typeof known === "object" && known !== null) {
    if (Symbol.iterator in known) return (known as Iterable<RuleFinding>)[Symbol.iterator]();
    if (Symbol.asyncIterator in known)
      throw new WrongAnswer("check is async, and a rule answers at once: no async, no await");
  }
  throw new WrongAnswer(`check gave ${quoted(known)}, expected findings: a list, or a generator`);
}

function reportOf({ report, messages }: PatternRule, match: Match): Report | undefined {
  if (report === undefined) return { message: Object.keys(messages)[0] ?? "" };
  const said: unknown = atOnce("report", report(match));
  if (said === undefined) return undefined;
  if (typeof said === "object" && said !== null && "message" in said) return said as Report;
  throw new WrongAnswer(`report gave ${quoted(said)}, expected { message, data }, or undefined`);
}

function findingOf(rule: PatternRule, match: Match, context: LintContext): RuleFinding | undefined {
  const report = reportOf(rule, match);
  if (report === undefined) return undefined;
  const { root, scope, nodes } = match;
  const covers = nodes.map((node): Site => ({ node, scope }));
  return {
    at: { node: rule.at === undefined ? root : match.node(rule.at), scope },
    message: report.message,
    data: report.data ?? {},
    covers,
    ...savingOf(rule, match, covers, context),
    // Rewrites are of the main graph: a function's body is shared by its calls, a loop's by its runs.
    ...(rule.fix !== undefined && !scope.isMain ? { fix: "none" } : {}),
  };
}

/**
 * What the fix saves where it is made: the decision is about the whole model, and so is this. Where it could be made and is not, it may save
 * nothing, whatever the rule makes of it: that is nobody's to do by hand.
 */
function savingOf(
  { fix, cost }: PatternRule,
  match: Match,
  covers: readonly Site[],
  context: LintContext,
): Pick<RuleFinding, "saves" | "left"> {
  const isDecided = fix !== undefined && context.decision !== undefined && match.scope.isMain;
  const decided = isDecided ? context.decision?.savingOver(covers) : undefined;
  if (decided !== undefined && decided.microseconds > 0) return { saves: decided };
  const saves = costOf(cost, match, context);
  if (!isDecided || saves === undefined) return { saves };
  return { saves: { ...saves, low: Math.min(0, saves.low) }, left: "its fix may save no time" };
}

function costOf(cost: PatternRule["cost"], match: Match, context: LintContext): Saving | undefined {
  if (cost === undefined) return undefined;
  const saves: unknown = atOnce("cost", cost(match, new MatchCost(context, match)));
  if (saves === undefined || (typeof saves === "object" && saves !== null && "microseconds" in saves))
    return saves as Saving | undefined;
  throw new WrongAnswer(`cost gave ${quoted(saves)}, expected { microseconds, low, high }, or undefined`);
}
