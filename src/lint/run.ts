/** @file One model through the rules: which states of it they look at, and what is told of which. */
import type { Model } from "../ir/model.ts";
import type { OtherStack } from "../workload/elsewhere.ts";
import { checkFile } from "../workload/emptied.ts";
import { priceModel, type Workload, type WorkloadSettings } from "../workload/workload.ts";
import type { Budget } from "./budgets.ts";
import { estimatedIn } from "./claims.ts";
import type { LintContext } from "./context.ts";
import type { DecidedFix } from "./decision.ts";
import { withDeclined, withoutHalfLeft, withoutLayoutLeft, withoutLosses } from "./declined.ts";
import { findIn } from "./find.ts";
import { Groups } from "./group.ts";
import { halfBeside } from "./half-beside.ts";
import { judged } from "./judge.ts";
import { Ladder, mayBeLater, replaced } from "./ladder.ts";
import { assemble, budgetsOf } from "./model-report.ts";
import type { ModelReport, NoticeReport, ProfileReport, Severity } from "./result.ts";
import type { AnyRule } from "./rule.ts";
import { withoutIdle } from "./share-out.ts";
import { withoutSmall } from "./shown.ts";
import { withStoredAuthor } from "./stored-author.ts";
import { InModel } from "./suppressed.ts";
import { sureInParts } from "./sure-parts.ts";
import { withoutUntold } from "./told.ts";

export interface LintSettings extends WorkloadSettings {
  readonly rules: readonly AnyRule[];
  /** By rule code; a rule without an entry keeps its own severity. */
  readonly severities: ReadonlyMap<string, Severity | "off">;
  /** Savings below this share of the model's time are not solved for: they are no part of the account, and summed up. */
  readonly minSaving: number;
  /** Where the user asks for more: what is below this share is not listed, and saves what it saves all the same. */
  readonly leastListed?: number | undefined;
  /** A warning worth at least this share of the model's time is an error. */
  readonly errorShare: number;
  /** Path in reports, relative to where the user stands. */
  readonly displayPath: string;
  /** What the configuration says of a rule at one node; undefined where it says nothing, "off" suppresses. */
  readonly severityAt: (place: {
    readonly code: string;
    readonly node: string;
    readonly op: string;
  }) => Severity | "off" | undefined;
  /** Why the configuration has a rule off there; null where it does not say. */
  readonly reasonAt?: (place: {
    readonly code: string;
    readonly node: string;
    readonly op: string;
  }) => string | null;
  /** Whether it is told in the target's half where nobody would choose that, too: beside another file that is. */
  readonly isToldInTarget?: boolean | undefined;
  /** What `--fix` makes of it; without an answer, findings say what their rule can repair. */
  readonly decide?: ((workload: Workload) => DecidedFix | undefined) | undefined;
  /** Stacks that a fix must not slow down. */
  readonly others?: readonly OtherStack[] | undefined;
  /** Whether the report lists every layer. */
  readonly layers?: boolean | undefined;
  /** Whether it has what is drawn: the graph around findings, and what the target could reach. */
  readonly drawings?: boolean | undefined;
  /** Whether what was switched off is listed. */
  readonly suppressed?: boolean | undefined;
  /** Whether metadata that switches off what is not found has a notice. */
  readonly reportUnused?: boolean | undefined;
  /** Whether all findings are listed, also those that save too little, or perhaps nothing. */
  readonly verbose?: boolean | undefined;
  readonly budgets?: readonly Budget[];
  /** Set where `timelineOf` is what a profile measured. */
  readonly profile?: ProfileReport | undefined;
  readonly notices: readonly NoticeReport[];
  /** Configuration files that decided about the model, the most general first. */
  readonly configFiles: readonly string[];
}

/**
 * Lints an open model; `price` may know what it takes already. Throws InputError where shapes or symbols given by the user do not fit it.
 */
export function lintModel<M extends Model>(
  model: M,
  settings: LintSettings,
  price: (model: M, settings: WorkloadSettings) => Workload = priceModel,
): ModelReport {
  return lintWorkload(price(model, settings), settings);
}

/** The same of a model that has been priced with these settings. */
export function lintWorkload(asked: Workload, settings: LintSettings): ModelReport {
  return lintPriced(asked, settings).report;
}

export interface Linted {
  readonly report: ModelReport;
  /** Whether lint by itself tells of the file as it is stored, be the report told in the target or not. */
  readonly isToldAsStored: boolean;
}

export function lintPriced(asked: Workload, settings: LintSettings): Linted {
  checkFile(asked.facts);
  const inTarget = settings.decide?.(asked);
  const asStored = inTarget?.asStored?.();
  const stored = settings.isToldInTarget === true ? undefined : asStored;
  const ladder = new Ladder(stored?.file ?? asked, settings, stored?.decided ?? inTarget);
  const { first } = ladder;
  const inModel = new InModel();
  const inFile = (file: LintContext) => findIn(file, file, settings, inModel);
  const { found: all, suppressed } = inFile(first);
  const inHalf = stored && inFile(new Ladder(asked, settings, inTarget).first);
  const inParts = inHalf === undefined ? all : sureInParts(all, inHalf.found, first.decision);
  const found = withoutHalfLeft(inParts, first, settings.minSaving);
  const later = ladder.after(found);
  const laterRules = { ...settings, rules: settings.rules.filter(mayBeLater) };
  const both = later === first ? found : replaced(found, findIn(later, first, laterRules, inModel).found);
  const declined = withoutLosses(withDeclined(both, first));
  const claimed = withoutLayoutLeft(declined, later, settings.minSaving);
  const states = { context: first, later };
  const groups = new Groups();
  for (const finding of withoutIdle(claimed, states)) groups.add(finding);
  const inAll = withStoredAuthor(judged([...groups.all(settings.minSaving)], states, settings), {
    context: (layout) => ladder.asStored(layout),
    look: (context) => findIn(context, context, laterRules, inModel).found,
    minSaving: settings.minSaving,
  });
  const told = withoutSmall(withoutUntold(inAll, estimatedIn(states)), settings);
  const half =
    stored === undefined
      ? undefined
      : halfBeside(stored.file, asked, {
          ...{ cost: settings.cost, minSaving: settings.minSaving },
          safe: stored.decided?.after ?? stored.file,
          written: inTarget?.inHalf?.(false)?.written,
        });
  const budgets = budgetsOf({ asked, stored: asStored?.file }, settings);
  const report = assemble(first, settings, { ...told, suppressed, half, budgets });
  const unused = settings.reportUnused === true ? inModel.unused(asked.model, wasLookedFor(settings)) : [];
  return {
    report: { ...report, notices: [...report.notices, ...unused] },
    isToldAsStored: asStored !== undefined,
  };
}

/** A name that no rule has is looked for in vain, whatever is switched on. */
function wasLookedFor({ rules, severities }: LintSettings): (name: string) => boolean {
  const byName = new Map(rules.flatMap((rule) => [[rule.code, rule] as const, [rule.name, rule] as const]));
  return (name) => {
    const rule = byName.get(name);
    return rule === undefined || (severities.get(rule.code) ?? rule.severity) !== "off";
  };
}
