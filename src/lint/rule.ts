/** @file How a rule is written: data in, findings out, no prose beyond its message templates. */
import type { Saving } from "../cost/model.ts";
import type { Scope } from "../facts/scope.ts";
import type { LayoutSetting } from "../hardware/stacks.ts";
import type { Node } from "../ir/model.ts";
import type { LintContext } from "./context.ts";
import type { Datum, Fixability } from "./result.ts";

/** Where a finding is: a node in one instance of its graph. */
export interface Site {
  readonly node: Node;
  readonly scope: Scope;
}

/** `{k}` and `{padded}` of "K is {k}; pad it to {padded}". */
type Placeholders<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;

type Messages = Readonly<Record<string, string>>;

/** A finding whose data fills every placeholder of its message. */
export type RuleFinding<M extends Messages = Messages> = {
  [Id in keyof M & string]: {
    readonly at: Site;
    readonly message: Id;
    readonly data: Readonly<Record<Placeholders<M[Id]>, Datum>> & Readonly<Record<string, Datum>>;
    /** Undefined where time is not the point (risk, unresolved sizes): such a finding is never below the threshold. */
    readonly saves?: Saving | undefined;
    /** What part `saves` is of the time that it is a part of, where that is another run than the one that is predicted. */
    readonly share?: number | undefined;
    /** Whose time the saving is a part of; by default that of the kernel at `at`. */
    readonly covers?: readonly Site[] | undefined;
    /** What is the same wherever a block repeats, for messages that name nodes; else the message. */
    readonly cause?: string | undefined;
    /**
     * The message that findings of other sizes have in common: those that it says the same of are one cause, and where their own messages differ it
     * is what is said of them together.
     */
    readonly shared?: (keyof M & string) | undefined;
    /** Data of that message in which findings of one cause may differ, as it says them then: sizes that one size is padded to at several places. */
    readonly alike?: Readonly<Record<string, Datum>> | undefined;
    /** What of its rule a finding is, the same on every target, where messages differ by target; else the message. */
    readonly kind?: string | undefined;
    /** Where one finding differs from its rule. */
    readonly fix?: Fixability | undefined;
    /** Why a fix that the rule has leaves this. */
    readonly left?: string | undefined;
    /** What makes it on the target, where no file does. */
    readonly setting?: LayoutSetting | undefined;
  };
}[keyof M & string];

export interface Rule<M extends Messages = Messages> {
  /** `TC101`: stable for ever, never reused. */
  readonly code: string;
  /** kebab-case, names the flaw. */
  readonly name: string;
  readonly severity: "warn" | "info";
  /** Whether `--fix` repairs it: safely, only when asked for by name, or not at all. */
  readonly fix: Fixability;
  /** What an unsafe fix changes, in every finding; the layout, unless said. */
  readonly changes?: "precision";
  /** Said of a rule that no finding of has a saving: it speaks of risks and of sizes. */
  readonly saves?: "nothing";
  /**
   * Said of a rule that speaks of the whole model, at a node that stands for it, or of a region of it, at its first node: another one is no
   * other finding.
   */
  readonly about?: "model" | "region";
  readonly messages: M;
  readonly check: (context: LintContext) => Iterable<RuleFinding<M>>;
}

/** A rule with its message ids and placeholders checked by the compiler. */
export function defineRule<const M extends Messages>(rule: Rule<M>): Rule<M> {
  return rule;
}

/** Any rule, its messages forgotten: what the run and the documentation handle. */
export interface AnyRule extends Omit<Rule, "check"> {
  readonly check: (context: LintContext) => Iterable<RuleFinding>;
}
