/** @file What a fix did to one model, in the terminal. */

import type { FixOutcome } from "../fix/fix.ts";
import { alikeText, withoutNames } from "../ir/alike-reasons.ts";
import { assumedText } from "../ir/assumed.ts";
import { compact, counted, duration, headOf, percent, printable } from "../ir/format.ts";
import { groupBy } from "../ir/group.ts";
import { pushAll } from "../ir/lists.ts";
import { labelOf } from "../ir/model.ts";
import { accountLines } from "./account-table.ts";
import { takenFirstText } from "./account-text.ts";
import { type Palette, paletteOf } from "./color.ts";
import { type Headline, headlineOf, slowerText } from "./fix-view.ts";
import { foldedLines } from "./fold.ts";
import { measuredLines } from "./measured-text.ts";
import type { ColorLevel } from "./render.ts";

export interface FixTextOptions {
  readonly color: ColorLevel;
  /** List the nodes and tensors that differ. */
  readonly diff: boolean;
  /** Every node that is removed, which are many where constants are folded. */
  readonly verbose: boolean;
  /** What half precision knew of the sizes of values. */
  readonly ranges: string | undefined;
  /** Of the terminal; undefined where the text does not go to one. */
  readonly columns?: number | undefined;
}

export function renderFixText(outcome: FixOutcome, options: FixTextOptions): string {
  const palette = paletteOf(options.color);
  const said = outcome.changed ? changedLines(outcome, options, palette) : sameLines(outcome, palette);
  const lines = [palette.heading(printable(outcome.path)), ...said, ...blockedLines(outcome, palette)];
  return `${foldedLines(lines, options.columns).join("\n")}\n`;
}

function sameLines(outcome: FixOutcome, palette: Palette): string[] {
  const failed = failedLines(outcome, palette);
  const copied = outcome.written ? ": copied as it is" : "";
  const said =
    failed.length > 0 ? [`  nothing is left to fix${copied}`, ...failed] : [`  nothing to fix${copied}`];
  pushAll(said, measured(outcome));
  if (outcome.written) pushAll(said, resultLines(outcome, palette));
  return said;
}

function changedLines(outcome: FixOutcome, options: FixTextOptions, palette: Palette): string[] {
  const account = accountLines(outcome.account, { columns: options.columns });
  const first = takenFirstText(outcome.account, outcome.written);
  const slower = slowerText(outcome);
  const said = [slower, first].flatMap((text) => (text === undefined ? [] : `  ${text}`));
  const lines = [`  ${timeText(outcome, palette)}`, ...account, ...said, `  ${sizeText(outcome)}`];
  const changes = outcome.notes.filter(({ kind }) => kind === "changed");
  pushAll(lines, changeLines(changes, outcome, palette));
  pushAll(lines, measured(outcome));
  const assumed = Object.keys(outcome.assumed);
  for (const text of assumedText(assumed, outcome.assumed)) lines.push(`  ${printable(text)}`);
  if (options.ranges !== undefined) lines.push(`  ranges of values: ${printable(options.ranges)}`);
  const differences = options.diff ? diffLines(outcome, options, palette) : [];
  return [...lines, ...differences, ...resultLines(outcome, palette), ...failedLines(outcome, palette)];
}

/** Whether the account claims what half precision saves, where it has that step. */
function isHalfSure({ account }: FixOutcome): boolean {
  const half = account?.find(({ step }) => step === "precision" || step === "half");
  return half === undefined || ((half.saves?.low ?? 0) > 0 && half.unsure !== true);
}

/** The account is told in half before safe fixes, and its Casts are no part of these: whose time the change to half is of. */
function halfBefore({ account }: FixOutcome): string {
  const steps = (account ?? []).map(({ step }) => step);
  const [half, safe] = [steps.indexOf("precision"), steps.indexOf("safe")];
  if (half < 0 || safe < half) return "";
  return ` (before safe fixes${steps.includes("kept") ? ", with its Casts" : ""})`;
}

/** Layers of a repeated block change alike: one line for all that read the same. */
function changeLines(changes: FixOutcome["notes"], outcome: FixOutcome, palette: Palette): string[] {
  const isSure = isHalfSure(outcome);
  const ofHalf = halfBefore(outcome);
  const told = changes.map(({ pass, message, microseconds }, index) => {
    const next = changes[index + 1];
    return { pass, message, microseconds, isOfMore: next?.pass === pass && next.microseconds === undefined };
  });
  // One that is priced with what follows stays before that.
  const alike = groupBy(told.entries(), ([index, { pass, message, microseconds, isOfMore }]) =>
    [pass, message, microseconds === undefined, isOfMore ? index : ""].join("\u0000"),
  );
  return [...alike.values()].flatMap((group) => {
    const [[, first] = []] = group;
    if (first === undefined) return [];
    const times = placesText(group.length);
    const whole = group.reduce((sum, [, { microseconds = 0 }]) => sum + microseconds, 0);
    const [verb, of] =
      first.pass === "half" ? ([isSure ? "saves" : "may save", ofHalf] as const) : (["saves", ""] as const);
    const time = first.microseconds === undefined ? undefined : whole;
    const saved = `${savesText(time, first.isOfMore, verb)}${time === undefined ? "" : of}`;
    return [`  ${palette.bold(first.pass)}  ${printable(first.message)}${times}${saved}`];
  });
}

/** Behind what is the same at several; `(2×)` within a message are axes of one size. */
function placesText(count: number): string {
  return count > 1 ? `, at ${count} places` : "";
}

function measured({ measurement }: FixOutcome): string[] {
  return measurement === null ? [] : measuredLines(measurement);
}

/** What sums of kernels in another order differ by is no saving, and no cost. */
const leastMicroseconds = 1e-4;

/** `isOfMore`: the pass priced what follows together with it. */
function savesText(microseconds: number | undefined, isOfMore: boolean, verb: "saves" | "may save"): string {
  if (microseconds === undefined) return "";
  const whose = isOfMore ? "with what follows " : "";
  if (Math.abs(microseconds) < leastMicroseconds) return `, ${whose}predicted to take as long`;
  return microseconds < 0
    ? `, ${whose}predicted to take ${duration(-microseconds)} more`
    : `, ${whose}${verb} ${duration(microseconds)}`;
}

function timeText(outcome: FixOutcome, palette: Palette): string {
  const { before, after, stored, inTarget } = headlineOf(outcome) ?? nothing;
  const share = before > 0 ? Math.abs(before - after) / before : 0;
  const change = share > 0 ? ` (${percent(share)} ${after < before ? "less" : "more"})` : "";
  const beside = inTarget === undefined ? "" : `; ${inTarget}`;
  return `predicted ${duration(before)} → ${palette.bold(duration(after))}${change}${stored}${beside}`;
}

const nothing: Headline = { before: 0, after: 0, stored: "", inTarget: undefined };

function fileSize(bytes: number): string {
  return bytes < 1000 ? `${bytes} bytes` : `${compact(bytes)}B`;
}

function sizeText({ diff }: FixOutcome): string {
  const count = (kind: string) => diff.nodes.filter((node) => node.kind === kind).length;
  const sign = diff.addedElements < 0 ? "−" : "+";
  const nodes = `nodes: ${count("added")} added, ${count("removed")} removed, ${count("changed")} changed${insideText(diff)}`;
  return `${nodes}; ${counted(diff.tensors.length, "tensor differs", "tensors differ")}, ${sign}${compact(Math.abs(diff.addedElements))} parameters`;
}

/** Beside those of the main graph: what lint counts of the result is all of them. */
function insideText({ addedInside, newFunctions }: FixOutcome["diff"]): string {
  const made =
    newFunctions === undefined
      ? ""
      : `, ${newFunctions.nodes} in ${counted(newFunctions.functions, "new function")}`;
  const others = addedInside - (newFunctions?.nodes ?? 0);
  if (others === 0) return made;
  return `${made}, ${Math.abs(others)} ${others > 0 ? "more" : "fewer"} inside functions and subgraphs`;
}

/** Of nodes that are removed, which what is said of each pass counts by operator. */
const mostRemoved = 20;

function diffLines({ diff }: FixOutcome, { verbose }: FixTextOptions, palette: Palette): string[] {
  const signs = { added: "+", removed: "−", changed: "~" } as const;
  const removed = headOf(
    diff.nodes.filter(({ kind }) => kind === "removed"),
    verbose ? undefined : mostRemoved,
    "--verbose lists them",
  );
  const listed = new Set(removed.shown);
  const { shown: changedNodes, more } = headOf(
    diff.nodes.filter((node) => node.kind !== "removed" || listed.has(node)),
  );
  const moreNodes = [...removed.more, ...more];
  const { shown: changedTensors, more: moreTensors } = headOf(diff.tensors);
  const nodes = changedNodes.map(({ name, op, kind, details }) => {
    const what = details.length > 0 ? `: ${details.join("; ")}` : "";
    return `  ${signs[kind]} ${printable(name)} ${palette.dim(`(${printable(op)})`)}${printable(what)}`;
  });
  const tensors = changedTensors.map(({ name, before, after }) => {
    const sign = before === null ? "+" : after === null ? "−" : "~";
    const shapes = before !== null && after !== null ? `${before} → ${after}` : (after ?? before ?? "");
    return `  ${sign} ${printable(name)} ${shapes}`;
  });
  const about = (lines: readonly string[], what: string) => lines.map((line) => `  ${what}: ${line}`);
  return [...nodes, ...about(moreNodes, "nodes"), ...tensors, ...about(moreTensors, "tensors")];
}

function resultLines(
  { written, destination, proof, bytes, dataFiles, unreferenced }: FixOutcome,
  palette: Palette,
): string[] {
  if (!written) return [`  ${palette.dim("not written")}`];
  const said = proof === null ? [] : [`  ${proof.kind}: ${printable(proof.summary)}`];
  const file = (path: string, size: number) => `  written to ${printable(path)} (${fileSize(size)})`;
  const name = printable(destination);
  return [
    ...said,
    file(destination, bytes),
    // Its name is of its content, so that the old file and the old model go together until the new ones do (docs/adr/0021).
    ...dataFiles.map((data) => `${file(data.path, data.bytes)}, a new file that belongs to ${name}`),
    ...unreferenced.map(({ path, bytes: left, isWhole }) =>
      isWhole
        ? `  ${printable(path)}: nothing in ${name} refers to it any more`
        : `  ${printable(path)}: ${fileSize(left)} of it is nothing of ${name} any more`,
    ),
  ];
}

/** What is a defect of tc-lint is said in full: someone should hear of it. */
function failedLines({ notes }: FixOutcome, palette: Palette): string[] {
  const failed = notes.filter(({ kind }) => kind === "failed");
  if (failed.length === 0) return [];
  const groups = [...groupBy(failed, ({ message }) => message).values()].slice(0, named);
  const more = failed.length > groups.length ? [`  left   and ${failed.length - groups.length} more`] : [];
  const lines = groups.map(([first]) => palette.bad(`  left   ${printable(first?.message ?? "")}`));
  return [...lines, ...more, `  ${palette.bad(failureAdvice(failed))}`];
}

/** Of parts of a fix that verification refuted. */
export function failureAdvice(
  failed: readonly Pick<FixOutcome["notes"][number], "pass" | "isDecision">[],
): string {
  const others = failed.filter(({ isDecision }) => isDecision !== true);
  const turned =
    "A decision between values that half precision does not tell apart falls either way, and what hangs on it is another: nothing can prove that it is the same, and it is no defect; --no-verify writes it";
  if (others.length === 0) return `What is written is verified. ${turned}.`;
  const isPlugins = others.every(({ pass }) => pass === "plugins");
  const whose = isPlugins ? "the plugin's own" : "a defect of tc-lint: please report it";
  const decided = others.length < failed.length ? ` ${turned}.` : "";
  return `What is written is verified.${decided} What failed on infinite inputs alone is beyond what a fix assumes (docs/fixing.md), and what crashes ONNX Runtime is a defect of it; anything else is ${whose}.`;
}

/** Reasons repeat from layer to layer: each once, with its count, or with the layers that a rule still finds. */
function blockedLines({ notes, changed }: FixOutcome, palette: Palette): string[] {
  const counts = new Map<string, number>();
  const told = new Set(notes.flatMap(({ rule, message }) => (rule === undefined ? [] : [message])));
  for (const { kind, pass, message, rule } of notes) {
    // Where nothing is turned, what has no NHWC is why.
    const isWhy = kind === "blocked" || (kind === "kept" && pass === "channels-last" && !changed);
    if (isWhy && rule === undefined && !told.has(message))
      counts.set(message, (counts.get(message) ?? 0) + 1);
  }
  const lines = [...counts].map(([message, count]) => `  note   ${message}${placesText(count)}`);
  pushAll(lines, leftLines(notes));
  return lines.map((line) => palette.dim(printable(line)));
}

/** Layers that are named before the rest is counted; the JSON report names all. */
const named = 3;

/** One reason at every repeat of a block is one, as lint tells it; one that several rules' products have is told with the first of them. */
function leftLines(notes: FixOutcome["notes"]): string[] {
  const left = notes.filter(({ rule }) => rule !== undefined);
  const reasons = groupBy(left, ({ message }) => withoutNames(message));
  return [...reasons.values()].flatMap((alike) =>
    [...groupBy(alike, leftAs).values()].map((group, index) => {
      const [first] = group;
      const names = group.slice(0, named).map(nameText);
      const more = group.length > named ? ` and ${group.length - named} more` : "";
      const why = index === 0 ? alikeText(alike.map(({ message }) => message)) : "the same reason";
      return `  left   ${first?.rule} ${names.join(", ")}${more} (${leftTime(group)}): ${why}`;
    }),
  );
}

/** Times that are of one kind are told as one. */
function leftAs({ rule, isPart, savedIn, madeIn }: FixOutcome["notes"][number]): string {
  return [rule, isPart === true, savedIn, madeIn].join("\u0000");
}

/** `"mm" in graph/b1:Block`. */
function nameText({ node, graph }: FixOutcome["notes"][number]): string {
  return `"${node === undefined ? "" : labelOf(node)}"${graph === undefined ? "" : ` in ${graph}`}`;
}

/** What is lost with it: a part of what the reason is about, or what each would save were it the only one. */
function leftTime(group: FixOutcome["notes"]): string {
  const [first] = group;
  const behind = first?.madeIn === undefined ? "" : `, once repaired in ${first.madeIn.toUpperCase()}`;
  return `${savedTime(group)}${behind}`;
}

function savedTime(group: FixOutcome["notes"]): string {
  const all = group.reduce((total, { microseconds = 0 }) => total + microseconds, 0);
  const [first] = group;
  // A part of what would cost as a whole.
  if (!(all > 0)) return "would save nothing";
  const time = duration(all);
  if (first?.isPart === true)
    return first.savedIn === undefined
      ? `${time} of what padding would save in all`
      : `would save ${time} in ${first.savedIn.toUpperCase()}`;
  return `would save ${time} ${group.length > 1 ? "in all, each alone" : "alone"}`;
}
