/** @file Which of a configuration's scenarios are rows of a model: one whose sizes it has no place for tells nothing of its own. */
import type { BudgetReport, NoticeReport } from "../lint/result.ts";
import { type Scenario, scenarioName } from "./scenarios.ts";

/** What one plan of a model came to. */
export interface Planned<Outcome> {
  readonly outcome: Outcome;
  readonly scenario: Scenario | undefined;
  /** GPU, stack, precision. */
  readonly target: { readonly gpu: string; readonly stack: string; readonly precision: string };
  /** Inputs and dimensions of the plan that the model has; undefined of one that failed, of which that is not known. */
  readonly bound: readonly string[] | undefined;
}

export interface Row<Outcome> {
  readonly outcome: Outcome;
  /** Empty where nothing tells it from others. */
  readonly name: string;
}

export interface Rows<Outcome> {
  readonly rows: readonly Row<Outcome>[];
  /** Outcomes that are no rows. */
  readonly left: readonly Outcome[];
  /** Of the scenarios whose sizes the model has no place for. */
  readonly notices: readonly NoticeReport[];
}

/** Of one model, in the order of its plans. A target that no other scenario is of keeps a row, at the sizes that the model has. */
export function rowsOf<Outcome>(planned: readonly Planned<Outcome>[]): Rows<Outcome> {
  const sized = planned.map(withSizes);
  const kept = new Set<Sized<Outcome>>();
  const keys = new Set<string>();
  for (const each of sized) {
    if (isPlaceless(each)) continue;
    const isAgain = each.lacking.length > 0 && keys.has(each.key);
    keys.add(each.key);
    if (!isAgain) kept.add(each);
  }
  const targets = new Set([...kept].map(({ target }) => target));
  for (const each of sized) {
    if (!isPlaceless(each) || targets.has(each.target)) continue;
    targets.add(each.target);
    kept.add(each);
  }
  const rows = sized.filter((each) => kept.has(each));
  const isOnly = rows.length === 1;
  return {
    rows: rows.map((each) => ({ outcome: each.planned.outcome, name: nameOf(each, isOnly) })),
    left: sized.filter((each) => !kept.has(each)).map(({ planned: { outcome } }) => outcome),
    notices: [
      ...noticesOf(
        sized,
        rows.filter((each) => !isPlaceless(each) || isOfTarget(each)),
      ),
      ...listedNotices(planned),
    ],
  };
}

/** A budget of a target that no scenario has is held beside the first one, which may be no row: of what `left` says, those. */
export function budgetsElsewhere(
  left: readonly { readonly budgets?: readonly BudgetReport[]; readonly target: BudgetReport["target"] }[],
): BudgetReport[] {
  const targetKeys = ["gpu", "stack", "precision"] as const;
  return left.flatMap(({ budgets = [], target }) =>
    budgets.filter((budget) => targetKeys.some((key) => budget.target[key] !== target[key])),
  );
}

interface Sized<Outcome> {
  readonly planned: Planned<Outcome>;
  readonly target: string;
  /** Target and sizes. */
  readonly key: string;
  readonly placed: readonly string[];
  /** Sizes of a configuration's scenario that the model has no place for. */
  readonly lacking: readonly string[];
}

function withSizes<Outcome>(planned: Planned<Outcome>): Sized<Outcome> {
  const { scenario, target, bound } = planned;
  const dims = scenario?.name === undefined ? {} : (scenario.settings.dims ?? {});
  const has = (name: string) => bound === undefined || bound.includes(name);
  const names = Object.keys(dims);
  const placed = names.filter(has);
  const where = [target.gpu, target.stack, target.precision].join(", ");
  const sizes = placed.toSorted().map((name) => `${name}=${dims[name]}`);
  return {
    planned,
    target: where,
    key: JSON.stringify([where, ...sizes]),
    placed,
    lacking: names.filter((name) => !has(name)),
  };
}

/** Whether its sizes are all it says, and the model has a place for none of them. */
function isPlaceless({ placed, lacking }: Sized<unknown>): boolean {
  return placed.length === 0 && lacking.length > 0;
}

/** Whether it names what it runs on, so that its name is right of any model. */
function isOfTarget({ planned: { scenario } }: Sized<unknown>): boolean {
  const { gpu, stack, precision } = scenario?.settings ?? {};
  return gpu !== undefined || stack !== undefined || precision !== undefined;
}

function nameOf(each: Sized<unknown>, isOnly: boolean): string {
  const { scenario, bound } = each.planned;
  if (scenario === undefined) return "";
  if (isPlaceless(each) && !isOfTarget(each)) return isOnly ? "" : each.target;
  return scenarioName(scenario, (symbol) => bound === undefined || bound.includes(symbol));
}

function noticesOf(sized: readonly Sized<unknown>[], named: readonly Sized<unknown>[]): NoticeReport[] {
  const kept = new Set(named);
  const without = sized.filter((each) => each.lacking.length > 0 && !kept.has(each));
  const atOwnSizes = named.filter(isPlaceless);
  const lacking = [...new Set([...without, ...atOwnSizes].flatMap((each) => each.lacking))];
  if (lacking.length === 0) return [];
  const parts = [
    ...(without.length > 0 ? [`no row for ${namesOf(without)}`] : []),
    ...(atOwnSizes.length > 0 ? [`at the model's own sizes: ${namesOf(atOwnSizes)}`] : []),
  ];
  const what = `the model has no dimension named ${listed(lacking.map((name) => JSON.stringify(name)))}`;
  return [{ code: "scenario-without-place", message: `${what}: ${parts.join("; ")}` }];
}

/** Of sizes that flags list and the model has no place for: it is linted without. */
function listedNotices(planned: readonly Planned<unknown>[]): NoticeReport[] {
  const lacking = new Set(
    planned.flatMap(({ scenario, bound }) =>
      bound === undefined ? [] : Object.keys(scenario?.sizes ?? {}).filter((name) => !bound.includes(name)),
    ),
  );
  return lacking.size === 0 ? [] : [lackingNotice([...lacking])];
}

/** Of sizes that flags give and the model has no place for. */
export function lackingNotice(lacking: readonly string[]): NoticeReport {
  const names = listed(lacking.map((name) => JSON.stringify(name)));
  const message = `the model has no dimension named ${names}: at its own sizes, whatever --dim says`;
  return { code: "scenario-without-place", message };
}

function namesOf(sized: readonly Sized<unknown>[]): string {
  const names = sized.map(({ planned: { scenario } }) => JSON.stringify(scenario?.name ?? ""));
  return `${names.length === 1 ? "scenario" : "scenarios"} ${listed(names)}`;
}

const mostNamed = 4;

function listed(names: readonly string[]): string {
  const more = names.length - mostNamed;
  return `${names.slice(0, mostNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
