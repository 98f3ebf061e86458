/**
 * @file What rules say of a model in one state: findings before anything is decided about them, and those that somebody switched off. These are judged
 * with the rest: what one finding claims of a kernel's time is not another's, whichever of them are told.
 */
import { siteOf } from "../facts/nhwc-body.ts";
import { labelOf, operatorOf } from "../ir/model.ts";
import type { Step } from "../workload/timeline.ts";
import type { LintContext } from "./context.ts";
import { fill } from "./describe.ts";
import { capped, type RawFinding, timeOf } from "./group.ts";
import { isCustom } from "./plugin/custom-rule.ts";
import type { Fixability, SavingReport, Severity } from "./result.ts";
import type { AnyRule, RuleFinding } from "./rule.ts";
import type { LintSettings } from "./run.ts";
import { type Ignored, type InModel, Suppressed } from "./suppressed.ts";

/** What rules say of a context, also those that are off; shares are of `whole`. */
export function findIn(context: LintContext, whole: LintContext, settings: LintSettings, inModel: InModel) {
  const found: RawFinding[] = [];
  const suppressed = new Suppressed(settings.suppressed === true);
  for (const rule of settings.rules) {
    const ofRule = settings.severities.get(rule.code) ?? rule.severity;
    // Code of others that is switched off does not run.
    if (ofRule === "off" && isCustom(rule)) continue;
    for (const raw of rule.check(context)) {
      if (ofRule === "off") {
        found.push({ ...rawFinding(raw, rule, rule.severity, context, whole), isUntold: true });
        continue;
      }
      const place = placeOf(raw, rule);
      const base = settings.severityAt(place) ?? ofRule;
      const ignored = ignoredBy(raw, rule, base, { settings, inModel });
      const severity = base === "off" ? ofRule : base;
      const finding = rawFinding(raw, rule, severity, context, whole);
      if (ignored !== undefined) suppressed.add(() => ({ ...finding, base: ofRule }), rule, ignored);
      found.push(ignored === undefined ? finding : { ...finding, isUntold: true });
    }
  }
  return { found, suppressed };
}

/** Who switched off a finding whose rule is on; undefined where it is told. */
function ignoredBy(
  raw: RuleFinding,
  rule: AnyRule,
  base: Severity | "off",
  { settings, inModel }: { readonly settings: LintSettings; readonly inModel: InModel },
): Ignored | undefined {
  if (base === "off") return { by: "configuration", reason: settings.reasonAt?.(placeOf(raw, rule)) ?? null };
  return inModel.ignoring(raw, rule, raw.at.scope.model);
}

function rawFinding(
  raw: RuleFinding,
  rule: AnyRule,
  base: Severity,
  context: LintContext,
  whole: LintContext,
): RawFinding {
  const textOf = (id: string, data = raw.data) => fill(rule.messages[id] ?? id, data);
  const fix = fixOf(raw, rule, context);
  const covers = new Set<Step>();
  for (const { node, scope } of raw.covers ?? [raw.at]) {
    for (const step of context.timeline.stepsOf(node, scope)) {
      covers.add(step);
      if (isSafe(raw, rule, fix)) for (const pass of context.decision?.passesOf(step) ?? []) covers.add(pass);
    }
  }
  return {
    raw,
    rule,
    base,
    message: textOf(raw.message),
    ...(raw.shared === undefined
      ? {}
      : { shared: textOf(raw.shared), alike: textOf(raw.shared, { ...raw.data, ...raw.alike }) }),
    saves: savingReport(raw, covers, whole),
    covers,
    fix,
    setting: raw.setting,
  };
}

/** What `--fix` is said to repair it does repair: where it was asked, its answer counts. */
function fixOf(
  { fix, at, covers = [at], setting }: RuleFinding,
  rule: AnyRule,
  { decision }: LintContext,
): Fixability {
  if (setting !== undefined) return "none";
  const known = fix ?? rule.fix;
  if (known !== "safe" || decision === undefined) return known;
  const saves = decision.savingOver(covers);
  if (saves === undefined || saves.microseconds <= 0) return "none";
  // In half precision, and not in the types of the file.
  return decision.isMadeAlone(covers) ? "safe" : "unsafe";
}

/** Whether safe fixes make it, by themselves or in half precision alone. */
function isSafe(raw: RuleFinding, rule: AnyRule, fix: Fixability): boolean {
  return fix !== "none" && (raw.fix ?? rule.fix) === "safe";
}

function savingReport(
  { saves, share }: RuleFinding,
  covers: ReadonlySet<Step>,
  whole: LintContext,
): SavingReport | null {
  if (saves === undefined) return null;
  // A part of another run of the whole model has no kernels of this one, and is a share of that one's time, as in the account.
  if (share !== undefined) {
    const of = saves.microseconds / share;
    return { ...saves, high: Math.min(saves.high, of), share, of };
  }
  return capped({ ...saves, share: whole.share(saves.microseconds), of: 0 }, timeOf(covers));
}

function placeOf({ at: { node, scope } }: RuleFinding, { code }: AnyRule) {
  return { code, node: labelOf(siteOf(node, scope).node), op: operatorOf(node) };
}
