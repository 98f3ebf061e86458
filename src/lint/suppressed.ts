/** @file What somebody switched off: counted, listed where that is asked for, and told from what was switched off in vain. */
import { fingerprintOf } from "../ir/fingerprint.ts";
import { labelOf, type Model } from "../ir/model.ts";
import { nodesOf } from "../ir/nodes.ts";
import { describe, identityOf } from "./describe.ts";
import type { RawFinding } from "./group.ts";
import type { NoticeReport, SuppressedFinding } from "./result.ts";
import type { AnyRule, RuleFinding } from "./rule.ts";

const ignoreKey = "tc-lint.ignore";

export interface Ignored {
  readonly by: "model" | "configuration";
  /** Null where nothing says why. */
  readonly reason: string | null;
}

interface Ignores {
  /** As written: codes or names. */
  readonly rules: readonly string[];
  readonly reason: string | null;
}

/** `rule-a, TC102 -- reason`. */
function ignoresIn(metadata: ReadonlyMap<string, string>): Ignores | undefined {
  const [names, ...reason] = metadata.get(ignoreKey)?.split(" -- ") ?? [];
  if (names === undefined) return undefined;
  const rules = names.split(",").map((each) => each.trim());
  return { rules, reason: reason.length === 0 ? null : reason.join(" -- ").trim() };
}

/** Metadata of the model and of its nodes, and which of it had something to suppress. */
export class InModel {
  /** Names that did, by the label of the node that they are at; of the model itself by undefined. */
  readonly #used = new Map<string | undefined, Set<string>>();

  /** By `tc-lint.ignore` in metadata_props of the model or of the node. */
  ignoring({ at: { node } }: RuleFinding, { code, name }: AnyRule, model: Model): Ignored | undefined {
    const places = [
      [undefined, ignoresIn(model.metadata)],
      [labelOf(node), ignoresIn(model.reader.nodeMetadata(node))],
    ] as const;
    for (const [at, ignores] of places) {
      const named = ignores?.rules.find((each) => each === code || each === name);
      if (ignores === undefined || named === undefined) continue;
      const used = this.#used.get(at);
      if (used === undefined) this.#used.set(at, new Set([named]));
      else used.add(named);
      return { by: "model", reason: ignores.reason };
    }
    return undefined;
  }

  /** A notice for each rule that the metadata names and that found nothing there. Reads the metadata of every node. */
  unused(model: Model, wasLookedFor: (rule: string) => boolean): NoticeReport[] {
    const places = new Map<string, string[]>();
    const look = (at: string | undefined, ignores: Ignores | undefined) => {
      for (const rule of ignores?.rules ?? []) {
        if (this.#used.get(at)?.has(rule) === true || !wasLookedFor(rule)) continue;
        const where = at === undefined ? "the model" : `"${at}"`;
        const before = places.get(rule);
        if (before === undefined) places.set(rule, [where]);
        else before.push(where);
      }
    };
    look(undefined, ignoresIn(model.metadata));
    for (const node of nodesOf(model)) look(labelOf(node), ignoresIn(model.reader.nodeMetadata(node)));
    return [...places].map(([rule, [first, ...more]]) => {
      const others = more.length > 0 ? ` and ${more.length} more` : "";
      const message = `${ignoreKey} of ${first}${others}: "${rule}" suppresses nothing`;
      return { code: unusedCode, message };
    });
  }
}

/** Of notices. */
export const unusedCode = "unused-suppression";

export class Suppressed {
  readonly findings: SuppressedFinding[] = [];
  readonly #isListed: boolean;
  readonly #occurrences = new Map<string, number>();
  #count = 0;
  #fixable = 0;

  constructor(isListed: boolean) {
    this.#isListed = isListed;
  }

  get count(): number {
    return this.#count;
  }

  /** Of rules that `--fix` repairs by. */
  get fixable(): number {
    return this.#fixable;
  }

  /** What is not listed is not described: there may be much of it. */
  add(finding: () => RawFinding, { fix }: Pick<AnyRule, "fix">, { by, reason }: Ignored): void {
    this.#count += 1;
    if (fix === "safe") this.#fixable += 1;
    if (!this.#isListed) return;
    const raw = finding();
    const fingerprint = fingerprintOf(identityOf(raw, this.#occurrences));
    const command = raw.fix === "safe" ? "--fix" : null;
    this.findings.push({ ...describe(raw, raw.saves, raw.base, fingerprint, command), by, reason });
  }
}
