/**
 * @file Where the model stands when each step of its account is taken: what safe fixes and precision save is seen in the file, what
 * another layout and its author save in what they leave.
 */
import type { CostModel } from "../cost/model.ts";
import { layoutSettingOf, stacks } from "../hardware/stacks.ts";
import { isHalf } from "../ir/fix-command.ts";
import { labelOf } from "../ir/model.ts";
import { noChange } from "../workload/change.ts";
import { pricedOn } from "../workload/priced-at.ts";
import type { Workload } from "../workload/workload.ts";
import { LintContext } from "./context.ts";
import { type DecidedFix, Decision } from "./decision.ts";
import { wayToLayout } from "./ends.ts";
import { type RawFinding, standingOf, stepOf } from "./group.ts";
import { settingStep, storedFile } from "./layout-setting.ts";
import { LayoutStep } from "./layout-step.ts";
import type { AnyRule } from "./rule.ts";

export class Ladder {
  /** The file. */
  readonly first: LintContext;
  readonly #cost: CostModel;
  readonly #minSaving: number;
  readonly #decided: DecidedFix | undefined;

  constructor(
    workload: Workload,
    { cost, minSaving }: { readonly cost: CostModel; readonly minSaving: number },
    decided: DecidedFix | undefined,
  ) {
    this.#cost = cost;
    this.#minSaving = minSaving;
    this.#decided = decided;
    const decision = decided && new Decision(workload, decided);
    // No step comes between: one look at the file is enough.
    const isLast = decided?.after === workload && isHalf(workload.target.precision);
    this.first = new LintContext(workload, cost, {
      decision,
      layout: isLast ? this.#layoutOf(workload) : undefined,
    });
  }

  /** What safe fixes leave, and half precision where it is claimed of what was `found` in the file. */
  after(found: readonly RawFinding[]): LintContext {
    const { first } = this;
    const decided = this.#decided;
    if (decided === undefined || first.knowsLayout) return first;
    const state = claimsHalf(first, found, this.#minSaving) ? first.half().after : decided.after;
    const decision = new Decision(state, { ...decided, after: state, change: noChange });
    return new LintContext(state, this.#cost, { decision, layout: this.#layoutOf(state) });
  }

  /** What commands leave of the file in the types that it stores: behind the layout that the account claims, where it does. */
  asStored(layout: "command" | "setting" | undefined): LintContext {
    const decided = this.#decided;
    const { first } = this;
    const state = (layout === "command" ? decided?.inLayout()?.after : undefined) ?? storedFile(first);
    const setting = layout === "setting" ? first.layoutSetting : undefined;
    const after = setting === undefined ? state : pricedOn(state, stacks[setting.stack], this.#cost);
    const decision = decided && new Decision(after, { ...decided, after, change: noChange });
    return new LintContext(after, this.#cost, { decision, layout: () => undefined });
  }

  #layoutOf(state: Workload): () => LayoutStep | undefined {
    let asked = false;
    let known: LayoutStep | undefined;
    return () => {
      if (!asked) known = this.#decideLayout(state);
      asked = true;
      return known;
    };
  }

  #decideLayout(state: Workload): LayoutStep | undefined {
    const setting = layoutSettingOf(state.target.stack);
    if (setting !== undefined) return settingStep(this.first, state, setting, this.#minSaving);
    const layout = this.#decided?.layoutOf(state);
    return layout && new LayoutStep(layout, () => wayToLayout(this.first, layout));
  }
}

/** Whether half precision is a step of the account, and not what the target computes in anyway. */
export function claimsHalf(
  { target }: LintContext,
  found: readonly Pick<RawFinding, "rule" | "fix" | "saves" | "setting">[],
  minSaving: number,
): boolean {
  if (isHalf(target.precision)) return false;
  return found.some((each) => stepOf(each) === "precision" && standingOf(each, minSaving) === "listed");
}

/**
 * Findings of the file, with those of later steps as they are when these steps are taken: what they save is of then, what they are said to be about is in
 * the file that the reader has.
 */
export function replaced(found: readonly RawFinding[], later: readonly RawFinding[]): RawFinding[] {
  const known = new Map(found.map((finding) => [keyOf(finding), finding]));
  const early = found.filter((finding) => !isLater(finding));
  const remaining = later.filter(isLater).map((finding): RawFinding => {
    const before = known.get(keyOf(finding));
    return before === undefined ? finding : { ...finding, ...saidOf(before, finding) };
  });
  return [...early, ...remaining];
}

type Said = Pick<RawFinding, "raw" | "message" | "shared" | "alike">;

/** The words of the file's finding, where both are of a later step and say the same: of what an earlier one repairs in part, the rest is said. */
function saidOf(before: RawFinding, { raw }: RawFinding): Partial<Said> {
  const { raw: file, message, shared, alike } = before;
  if (!isLater(before) || file.message !== raw.message) return { raw: { ...raw, at: file.at } };
  const { at, data, cause } = file;
  const words = { ...(shared === undefined ? {} : { shared }), ...(alike === undefined ? {} : { alike }) };
  return { raw: { ...raw, at, data, ...(cause === undefined ? {} : { cause }) }, message, ...words };
}

/** Whether findings of a rule may be later steps: half precision comes before, and what saves nothing is no step. */
export function mayBeLater({ saves, changes }: AnyRule): boolean {
  return saves !== "nothing" && changes !== "precision";
}

function isLater(finding: RawFinding): boolean {
  const step = stepOf(finding);
  return step === "layout" || step === "author";
}

function keyOf({ rule: { code }, raw: { at } }: RawFinding): string {
  return `${code}\u0000${at.scope.path}\u0000${labelOf(at.node)}`;
}
