/** @file Why a rule's pattern fits a node or does not: what came nearest, which part of it failed, what was found there. */

import type { Scope } from "../facts/scope.ts";
import { readCalibration } from "../files/read-calibration.ts";
import { InputError } from "../ir/errors.ts";
import { labelOf, type Node } from "../ir/model.ts";
import { Guard, type Limits } from "../limits/guard.ts";
import { LintContext } from "../lint/context.ts";
import { fill } from "../lint/describe.ts";
import { explainAt, type MatchAttempt } from "../lint/pattern/explain.ts";
import type { CustomRule } from "../lint/plugin/custom-rule.ts";
import { isCustom } from "../lint/plugin/custom-rule.ts";
import type { AnyRule } from "../lint/rule.ts";
import { openModel } from "../onnx/open.ts";
import { suggestion } from "../settings/closest.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { selectRules } from "../settings/rule-selectors.ts";
import { priceModel, type Workload } from "../workload/workload.ts";
import { rulesOf } from "./plugins.ts";
import { prepare } from "./prepare.ts";
import { settingsOf } from "./timelines.ts";

export interface MatchReport extends MatchAttempt {
  readonly rule: string;
  readonly model: string;
  /** As it was asked for. */
  readonly node: string;
  /** What the rule says there; null where the pattern does not fit, or where its report leaves it. */
  readonly message: string | null;
  /** Whether the model's configuration has the rule off. */
  readonly off: boolean;
}

/** Throws InputError where there is no such rule or node, and where the rule has no pattern. */
export async function explainMatch(
  plan: LintPlan,
  asked: { readonly rule: string; readonly node: string },
  limits: Limits,
): Promise<MatchReport> {
  await prepare(plan);
  const rule = patternRule(asked.rule, rulesOf(plan.settings));
  const guard = new Guard({ path: plan.path, doing: "linting", ...limits });
  return guard.runRepeatable(() => explained(plan, rule, asked.node));
}

function patternRule(selector: string, rules: readonly AnyRule[]): CustomRule & { pattern: object } {
  const [code, ...more] = selectRules(selector, rules, "explain-match");
  const rule = rules.find((each) => each.code === code);
  if (rule === undefined || more.length > 0)
    throw new InputError("usage", `explain-match: "${selector}" names several rules, expected one`);
  if (!isCustom(rule) || rule.pattern === undefined)
    throw new InputError(
      "usage",
      `explain-match: ${code} has no pattern: tc-lint explain ${code} says what it looks for`,
    );
  return { ...rule, pattern: rule.pattern };
}

function explained(plan: LintPlan, rule: CustomRule, name: string): MatchReport {
  const { path, settings } = plan;
  using model = openModel(path);
  const calibration = readCalibration(settings.calibration);
  const request = settingsOf(model, { ...plan, rules: [], calibration, notices: [] });
  const workload = priceModel(model, request);
  const places = placesOf(workload, name, path);
  const { pattern } = rule;
  if (pattern === undefined) throw new InputError("usage", `explain-match: ${rule.code} has no pattern`);
  const attempts = places.map(({ node, scope }) => explainAt(pattern, node, scope, workload.bindings));
  const best =
    attempts.find(({ fits }) => fits) ?? attempts.sort((a, b) => b.fitted.length - a.fitted.length)[0];
  if (best === undefined) throw new InputError("unknown-node", `${path}: no node is named "${name}"`);
  return {
    rule: rule.code,
    model: path,
    node: name,
    ...best,
    message: best.fits ? messageAt(best, rule, new LintContext(workload, request.cost)) : null,
    off: settings.severities[rule.code] === "off",
  };
}

/** What the rule itself says of the node that the pattern ended in. */
function messageAt({ root }: MatchAttempt, rule: CustomRule, context: LintContext): string | null {
  for (const { covers = [], message, data } of rule.check(context))
    if (covers.some(({ node }) => labelOf(node) === root))
      return fill(rule.messages[message] ?? message, data);
  return null;
}

function placesOf({ facts }: Workload, name: string, path: string) {
  const places: { node: Node; scope: Scope }[] = [];
  const names = new Set<string>();
  for (const scope of facts.scopes()) {
    for (const node of scope.graph.nodes) {
      names.add(labelOf(node));
      if (labelOf(node) === name) places.push({ node, scope });
    }
  }
  if (places.length > 0) return places;
  // A long model has many names that are alike: those of other numbers are no misspelling.
  const hint = names.size > 2000 ? "" : suggestion(name, names);
  throw new InputError("unknown-node", `${path}: no node is named "${name}"${hint} (--table lists them)`);
}
