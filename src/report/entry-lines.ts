/** @file An entry in the terminal: what is wrong, where, what it takes, and what to do. */
import { printable, savingRange } from "../ir/format.ts";
import type { Finding, FindingGroup, ModelReport } from "../lint/result.ts";
import { storedEnd, sureTogether } from "./account-text.ts";
import type { Palette } from "./color.ts";
import { type Entry, moreText, originOf, originsOf } from "./entries.ts";
import type { ViewOptions } from "./model-view.ts";
import { nameBehind } from "./rule-title.ts";
import { claimText, shareOfText, storedText } from "./share.ts";

/** The first line says all by itself; what to do stands below. */
export function entryLines(
  entry: Entry,
  model: ModelReport,
  options: ViewOptions,
  palette: Palette,
): string[] {
  const { group, findings } = entry;
  const { severity, code, rule, message, saves } = group;
  const [{ node, op, graph }] = findings;
  const where = graph === "graph" ? "" : palette.dim(` in ${printable(graph)}`);
  const saved = saves === null ? "" : `  ${palette.bold(claimText(saves))}`;
  const head = `  ${palette.severity[severity](severity.padEnd(5))}  ${palette.bold(code)}${nameBehind(code, rule)}  ${palette.code(printable(node))}${moreText(entry)} ${palette.dim(`(${printable(op)})`)}${where}${saved}`;
  const details = [shareText(group, options), fixText(group, model, palette)].filter((text) => text !== "");
  const isEach = options.verbose && findings.length > 1;
  const origins = isEach
    ? findings.map((finding) => placeText(finding, message))
    : [originsOf(entry, options.detail !== "full").join("  ")].filter((origin) => !isSame(origin, node));
  const lines = [printable(message)];
  const about = [details.join("; "), isEach ? "" : palette.dim(printable(origins.join("")))];
  if (about.some((text) => text !== "")) lines.push(about.filter((text) => text !== "").join("  "));
  if (isEach) for (const origin of origins) lines.push(palette.dim(printable(origin)));
  return [head, ...lines.map((line) => `         ${line}`)];
}

/** Where one of several is, and what it says where they do not all say the same. */
function placeText(finding: Finding, together: string): string {
  const own = finding.message === together ? [] : [finding.message];
  const where = finding.graph === "graph" ? finding.node : `${finding.node} in ${finding.graph}`;
  return [where, ...originOf(finding), ...own].join("  ");
}

/** A module that the node's own name says already. */
function isSame(origin: string, node: string): boolean {
  const plain = (text: string) => text.replaceAll(/[^a-zA-Z0-9]/g, "");
  return origin === "" || plain(node).includes(plain(origin));
}

/** `15 % of 50.7 µs (4.17 to 13.6 µs)`. */
function shareText({ saves }: FindingGroup, { detail }: ViewOptions): string {
  if (saves === null) return "";
  if (detail === "brief") return `${shareOfText(saves)}${storedText(saves)}`;
  return `${shareOfText(saves)} (${savingRange(saves, saves.of)})${storedText(saves)}`;
}

function fixText(group: FindingGroup, { account }: ModelReport, palette: Palette): string {
  const { fix, fixCommand, left, setting } = group;
  if (setting !== undefined) return `with ${setting.option}${storedEnd(group, account)}`;
  if (fixCommand !== null) return palette.good(`fixed by ${fixCommand}`) + storedEnd(group, account);
  if (fix !== "none") return unsureFix(group, account);
  return left === null ? "" : `--fix leaves it: ${printable(left)}`;
}

/** What is not sure by itself may be a part of a file that is. */
function unsureFix({ step }: FindingGroup, account: ModelReport["account"]): string {
  const row = account.find((each) => each.step === step);
  const command = row && sureTogether(row, account);
  return command === undefined
    ? "no fix is sure to gain"
    : `not sure by itself; ${command} is sure to gain, with what follows`;
}
