/** @file What `--fix` does to the model: asked once, and told by every finding that it concerns. */
import type { Saving } from "../cost/model.ts";
import { combineSavings } from "../cost/saving.ts";
import type { Scope } from "../facts/scope.ts";
import type { LayoutSetting } from "../hardware/stacks.ts";
import type { Changed } from "../ir/fix-command.ts";
import type { Node } from "../ir/model.ts";
import type { ProductWork } from "../ops/work.ts";
import type { TakenFirst, WrittenSaving } from "../workload/account.ts";
import type { StepChange, WorkloadChange } from "../workload/change.ts";
import type { CostedProduct, ProposedSizes } from "../workload/product.ts";
import type { Step } from "../workload/timeline.ts";
import type { SavedPart, Whole } from "../workload/within-whole.ts";
import type { Workload } from "../workload/workload.ts";
import { isPadded, passesBehind } from "./passes-behind.ts";

export interface LeftReason {
  readonly message: string;
  /** Set where it may be done and does not pay: for sure too little, or perhaps nothing. Else it is its author's to change. */
  readonly declined?: "below" | "uncertain" | undefined;
  /** Set where that is said of several fixes together: what it would save is a part of what they would. */
  readonly whole?: Whole | undefined;
}

/** What safe fixes make of a workload; whoever knows the passes answers. */
export interface DecidedFix {
  readonly after: Workload;
  readonly change: WorkloadChange;
  /** Why safe fixes that save time on the target are not made, where that is for another stack's sake. */
  readonly slowerElsewhere?: string | undefined;
  /** Whether `--fix` alone leaves them: they gain in half precision, and not for sure in the types that the file stores. */
  readonly needsHalf?: boolean;
  /** What `--fix` alone makes where it leaves the rest; undefined where that is nothing. */
  readonly alone?: Pick<DecidedFix, "after" | "change"> | undefined;
  /** Whether padding was solved for, and something is padded: that takes longer than to decide on half. */
  readonly isSolved?: boolean;
  /** What padding saves of the change, component by component; the rest is folding's. */
  readonly padding?: readonly SavedPart[] | undefined;
  /** Microseconds that safe fixes would save which are declined as a whole. */
  readonly foregone?: number | undefined;
  /** Whether a plugin has the node rewritten, or it is joined with others. */
  readonly isRewritten: (node: Node) => boolean;
  /** Why operators that are written out are not joined; undefined where there is nothing to say. */
  readonly whyWritten?: string | undefined;
  /** Why a product that could be padded is left as it is. */
  readonly reasonFor: (product: CostedProduct) => LeftReason;
  /** What it would be padded to, where that is declined. */
  readonly proposedFor?: ProposedSizes | undefined;
  /**
   * What channels_last makes of the repaired model, `state` being its workload in the types that it then has; undefined where that
   * moves nothing, or can save next to nothing.
   */
  readonly layoutOf: (state: Workload) => DecidedLayout | undefined;
  /**
   * The repaired model as it is written in half precision where somebody asks for it by name, and in the layout that pays there where
   * `isLaidOut`; null where nothing becomes half, undefined where weights would have to be read to tell.
   */
  readonly inHalf: (isLaidOut: boolean) => DecidedEnd | null | undefined;
  /** What `--fix` alone leaves, in the layout that pays in the types that it stores; undefined where NHWC moves nothing there. */
  readonly inLayout: () => DecidedEnd | undefined;
  /** The command that gains most of this file, and less behind `--fix`; undefined where there is none. It decides on half. */
  readonly takenFirst: () => TakenFirst | undefined;
  /** The same of the file as it is stored, where half is predicted to cost and no command is sure to gain by storing it; undefined elsewhere. */
  readonly asStored?: () => DecidedAsStored | undefined;
}

export interface DecidedAsStored {
  readonly file: Workload;
  readonly decided: DecidedFix;
}

/** A file that a command writes, in the types that it then stores: in half with what stays FP32 and the Casts between. */
export interface DecidedEnd {
  readonly after: Workload;
  /** In half of the file that the user has, in another layout of the one that `--fix` alone leaves, in the types that it stores. */
  readonly written: WrittenSaving;
  /** Whether it saves enough, beyond doubt; in half of what `--fix` alone leaves as well, as is predicted. */
  readonly isSure: boolean;
}

/** How another layout is come by. */
export interface LayoutWay {
  /** Null where no file is sure to gain. */
  readonly changed: Changed | null;
  /** What the file that is written saves, where it stays in the types that it stores. */
  readonly stored?: WrittenSaving | undefined;
  /** Whether the file in half had to be known to tell. */
  readonly knowsHalf: boolean;
}

export interface DecidedRegion {
  readonly convolutions: readonly Node[];
  /** Transposes that its borders cost. */
  readonly borders: number;
  /** Of what the layout step saves: its convolutions and the Transposes that go, less those at its borders. */
  readonly microseconds: number;
}

export interface DecidedLayout {
  readonly after: Workload;
  readonly change: WorkloadChange;
  /** What NHWC values connect. */
  readonly regions: readonly DecidedRegion[];
  /** Why it is not done where nobody asks for it; undefined where it is. */
  readonly declined?: string;
  /** Set where it is done in a file that is brought to half, by name, and in no other. */
  readonly needsHalf?: true;
  /** Of a state in half: what that and NHWC save of the types that are stored, without Casts. */
  readonly sinceStored?: Saving | undefined;
  /** The same with what comes before: of the file that the user has. */
  readonly sinceFile?: Saving | undefined;
  /** Of a target in no half: what it saves of the file that stays as it is stored. */
  readonly written?: WrittenSaving | undefined;
  /** Set where a setting of the stack makes it, and no file. */
  readonly setting?: LayoutSetting;
  /** By which parts are shared out, where `change` is of a file in half, and rules look at it before Casts. */
  readonly shares?: WorkloadChange;
}

/** A product as it is in the repaired model. */
export interface DecidedProduct<W extends ProductWork<number>> {
  readonly work: W;
  /** All runs. */
  readonly saves: Saving;
}

const roundingMicroseconds = 1e-6;

export class Decision {
  readonly after: Workload;
  readonly change: WorkloadChange;
  readonly slowerElsewhere: string | undefined;
  readonly needsHalf: boolean;
  /** What `--fix` alone leaves; undefined where that is the file. */
  readonly alone: Workload | undefined;
  readonly foregone: number | undefined;
  readonly isSolved: boolean;
  readonly padding: readonly SavedPart[];
  readonly whyWritten: string | undefined;
  readonly proposedFor: ProposedSizes | undefined;
  readonly #reasonFor: DecidedFix["reasonFor"];
  readonly #isRewritten: DecidedFix["isRewritten"];
  readonly #changes = new Map<Step, StepChange>();
  /** Microseconds that `--fix` alone saves. */
  readonly #savedAlone = new Map<Step, number>();
  readonly #before: Workload;
  readonly #ends: Pick<DecidedFix, "inHalf" | "inLayout" | "takenFirst">;
  /** Passes whose time a product's padding changes, by the product. */
  readonly #passes: ReadonlyMap<Step, readonly StepChange[]>;

  constructor(before: Workload, decided: DecidedFix) {
    const { after, change, reasonFor, isRewritten } = decided;
    this.#ends = decided;
    this.whyWritten = decided.whyWritten;
    this.proposedFor = decided.proposedFor;
    this.needsHalf = decided.needsHalf === true;
    this.isSolved = decided.isSolved === true;
    this.foregone = decided.foregone;
    this.padding = decided.padding ?? [{ labels: new Set(), microseconds: change.saves.microseconds }];
    this.slowerElsewhere = decided.slowerElsewhere;
    this.after = after;
    this.change = change;
    this.#reasonFor = reasonFor;
    this.#isRewritten = isRewritten;
    this.#before = before;
    for (const each of change.steps) if (each.before !== undefined) this.#changes.set(each.before, each);
    this.#passes = passesBehind(this.#changes, before.timeline);
    const alone = this.needsHalf ? decided.alone : decided;
    this.alone = alone?.after;
    for (const { before: step, saves } of alone?.change.steps ?? [])
      if (step !== undefined) this.#savedAlone.set(step, saves.microseconds);
  }

  /** What becomes of the kernel that computes a node; undefined where it stays as it is. */
  changeAt(node: Node, scope: Scope): StepChange | undefined {
    const step = this.#before.timeline.stepOf(node, scope);
    return step && this.#changes.get(step);
  }

  /** What that saves, with the passes that are priced by what it writes; undefined where it stays as it is. */
  savingAt(node: Node, scope: Scope): Saving | undefined {
    const change = this.changeAt(node, scope);
    const passes = change?.before === undefined ? [] : (this.#passes.get(change.before) ?? []);
    return change === undefined || passes.length === 0
      ? change?.saves
      : combineSavings([change, ...passes].map(({ saves }) => saves));
  }

  /** Whether `--fix` alone saves what all safe fixes do of the kernels that compute these nodes. */
  isMadeAlone(sites: readonly { readonly node: Node; readonly scope: Scope }[]): boolean {
    const changes = new Set(sites.flatMap(({ node, scope }) => this.changeAt(node, scope) ?? []));
    let [alone, all] = [0, 0];
    for (const { before, saves } of changes) {
      alone += (before && this.#savedAlone.get(before)) ?? 0;
      all += saves.microseconds;
    }
    return changes.size > 0 && alone >= all - roundingMicroseconds;
  }

  /** Whether some of these kernels get another size, and are not only folded away or together. */
  pads(steps: Iterable<Step>): boolean {
    for (const step of steps) {
      const change = this.#changes.get(step);
      if (change !== undefined && isPadded(change)) return true;
    }
    return false;
  }

  /** What becomes of several kernels, in all; undefined where all of them stay as they are. */
  savingOver(sites: readonly { readonly node: Node; readonly scope: Scope }[]): Saving | undefined {
    const [first, ...more] = sites;
    if (first !== undefined && more.length === 0) return this.savingAt(first.node, first.scope);
    const changes = new Set(sites.flatMap(({ node, scope }) => this.changeAt(node, scope) ?? []));
    return changes.size === 0 ? undefined : combineSavings([...changes].map(({ saves }) => saves));
  }

  /** Those passes. */
  passesOf(step: Step): readonly Step[] {
    return (this.#passes.get(step) ?? []).flatMap(({ before }) => before ?? []);
  }

  /** A product at the sizes that it gets; undefined where it stays as it is. */
  paddedOf<W extends ProductWork<number>>(
    product: CostedProduct,
    kind: W["kind"],
  ): DecidedProduct<W> | undefined {
    const { node, scope } = product;
    const work = this.changeAt(node, scope)?.after?.work;
    const saves = this.savingAt(node, scope);
    return saves === undefined || work === undefined || !isOfKind<W>(work, kind)
      ? undefined
      : { work, saves };
  }

  /** The file in half precision, in the layout that pays there where that is a step. */
  inHalf(isLaidOut: boolean): DecidedEnd | null | undefined {
    return this.#ends.inHalf(isLaidOut);
  }

  /** The file in the types that it stores, in the layout that pays there. */
  inLayout(): DecidedEnd | undefined {
    return this.#ends.inLayout();
  }

  takenFirst(): TakenFirst | undefined {
    return this.#ends.takenFirst();
  }

  isRewritten(node: Node): boolean {
    return this.#isRewritten(node);
  }

  reasonFor(product: CostedProduct): LeftReason {
    return this.#reasonFor(product);
  }
}

export function isOfKind<W extends ProductWork<number>>(
  work: { readonly kind: string },
  kind: W["kind"],
): work is W {
  return work.kind === kind;
}
