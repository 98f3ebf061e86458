/** @file One finding as data: what it says, where it is, what it is known by from run to run. */
import { siteOf } from "../facts/nhwc-body.ts";
import { labelOf, operatorOf } from "../ir/model.ts";
import type { RawFinding } from "./group.ts";
import type { Datum, Finding, SavingReport, Severity } from "./result.ts";
import { originOf } from "./source.ts";

/**
 * What a finding is known by from run to run: its rule, its node within the model, what of the rule it is, and how many of them come
 * before it. Nothing of where the model lies: a copy, and a model that was moved, has the same findings.
 */
export function identityOf(
  { raw: { at, kind, message }, rule: { code, about } }: RawFinding,
  occurrences: Map<string, number>,
): string {
  const { node, scope } = siteOf(at.node, at.scope);
  const place = about === "model" ? [] : [scope.path, operatorOf(at.node), labelOf(node)];
  const identity = [code, ...place, kind ?? message].join("\u0000");
  const occurrence = occurrences.get(identity) ?? 0;
  occurrences.set(identity, occurrence + 1);
  return `${identity}\u0000${occurrence}`;
}

export function describe(
  { raw, rule, message, fix, setting }: RawFinding,
  saves: SavingReport | null,
  severity: Severity,
  fingerprint: string,
  fixCommand: string | null,
): Finding {
  const { node, scope } = siteOf(raw.at.node, raw.at.scope);
  return {
    code: rule.code,
    rule: rule.name,
    severity,
    node: labelOf(node),
    op: operatorOf(raw.at.node),
    graph: scope.path,
    message,
    data: raw.data,
    saves,
    fix,
    fixCommand,
    ...(setting === undefined ? {} : { setting }),
    ...originOf(node, scope.model),
    fingerprint,
  };
}

/** What messages count: `{kernels} kernels`, and `{count} of {products} products are`. Other words behind a number may be verbs. */
const countedNouns =
  /\{(\w+)\}( of \{(\w+)\})? (block|channel|convolution|group|head|kernel|layer|multiprocessor|node|output|product|row|step|term|tile|time)s\b( are\b)?/g;

/** A message with its data in the placeholders, and one of anything in the singular. */
export function fill(template: string, data: Readonly<Record<string, Datum>>): string {
  const agreed = template.replaceAll(
    countedNouns,
    (
      whole: string,
      first: string,
      _: string | undefined,
      all: string | undefined,
      noun: string,
      verb?: string,
    ) => {
      const nouns = data[all ?? first] === 1 ? noun : `${noun}s`;
      const is = verb !== undefined && data[first] === 1 ? " is" : (verb ?? "");
      return whole.replace(/ \w+s( are)?$/, ` ${nouns}${is}`);
    },
  );
  return agreed.replaceAll(/\{(\w+)\}/g, (whole, key: string) => {
    const value = data[key];
    if (value === undefined) return whole;
    if (typeof value === "number") return formatNumber(value);
    return Array.isArray(value) ? value.join(", ") : String(value);
  });
}

function formatNumber(value: number): string {
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(3)));
}
