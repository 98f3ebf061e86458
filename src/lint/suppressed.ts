/** @file What somebody switched off: counted, and listed where that is asked for. */
import type { Model } from "../ir/model.ts";
import { describe, fingerprintOf, identityOf } from "./describe.ts";
import type { RawFinding } from "./group.ts";
import type { SuppressedFinding } from "./result.ts";
import type { AnyRule, RuleFinding } from "./rule.ts";

const ignoreKey = "tc-lint.ignore";

export interface Ignored {
  readonly reason: string | null;
}

/** By `tc-lint.ignore` in metadata_props of the model or of the node: `rule-a, TC102 -- reason`. */
export function ignoredBy({ at: { node } }: RuleFinding, rule: AnyRule, model: Model): Ignored | undefined {
  for (const list of [model.metadata.get(ignoreKey), model.reader.nodeMetadata(node).get(ignoreKey)]) {
    const [names = "", ...reason] = list?.split(" -- ") ?? [];
    const isNamed = names.split(",").some((each) => each.trim() === rule.code || each.trim() === rule.name);
    if (isNamed) return { reason: reason.length === 0 ? null : reason.join(" -- ").trim() };
  }
  return undefined;
}

export class Suppressed {
  readonly findings: SuppressedFinding[] = [];
  readonly #isListed: boolean;
  readonly #occurrences = new Map<string, number>();
  #count = 0;

  constructor(isListed: boolean) {
    this.#isListed = isListed;
  }

  get count(): number {
    return this.#count;
  }

  /** `ignored` is undefined where the configuration did it. What is not listed is not described: there may be much of it. */
  add(finding: () => RawFinding, ignored: Ignored | undefined): void {
    this.#count += 1;
    if (!this.#isListed) return;
    const raw = finding();
    const fingerprint = fingerprintOf(identityOf(raw, this.#occurrences));
    this.findings.push({
      ...describe(raw, raw.saves, raw.base, fingerprint),
      by: ignored === undefined ? "configuration" : "model",
      reason: ignored?.reason ?? null,
    });
  }
}
