/** @file What is found in a model: an entry a cause, with its figures, its places, the graph around it, and what mends it. */

import { counted, duration, readsAsNothing, savingRange, significant } from "../../ir/format.ts";
import type { Finding, FindingGroup, ModelReport, Severity } from "../../lint/result.ts";
import { type Entry, entriesOf, moreText, unlistedOf } from "../entries.ts";
import type { RenderOptions } from "../render.ts";
import { ruleTitle } from "../rule-title.ts";
import { claimVerb, savedText, shareOfText, sizeOf, storedText } from "../share.ts";
import { cleanSentence } from "../summary.ts";
import { commandLine } from "./command.ts";
import { graphMarkup } from "./graph.ts";
import { html, type Markup } from "./markup.ts";

/** Places of an entry that are listed; the rest is counted. */
const mostPlaces = 100;
/** Entries that stand open. */
const mostOpen = 3;
/** Entries that are listed at all: a large model has thousands that save nothing. */
const mostEntries = 500;

export function findingsMarkup(model: ModelReport, options: RenderOptions): Markup {
  const [listed, unlisted] = [entriesOf(model), unlistedOf(model)];
  const head = listed.length === 0 ? html`<p class="clean">${cleanSentence(options.quiet)}</p>` : "";
  return html`${head}${entriesMarkup(listed, mostOpen, model, options)}${
    unlisted.length === 0
      ? ""
      : html`<h3>Counted, not listed: too little, or perhaps nothing</h3>${entriesMarkup(unlisted, 0, model, options)}`
  }`;
}

function entriesMarkup(
  entries: readonly Entry[],
  open: number,
  model: ModelReport,
  options: RenderOptions,
): Markup {
  const shown = entries.slice(0, mostEntries);
  const graphs = new Map(model.surroundings?.map((each) => [each.finding, each]));
  const markup = shown.map((entry, index) => {
    const around = graphs.get(entry.group.findings[0] ?? "");
    const found = new Set(entry.findings.map(({ node }) => node));
    const graph = around === undefined ? undefined : graphMarkup(around, found);
    return entryMarkup(entry, { model, options, graph, isOpen: index < open });
  });
  const left = entries.length - shown.length;
  return html`${markup}${left > 0 ? html`<p class="dim">${counted(left, "more entry", "more entries")}: -f json has all of them.</p>` : ""}`;
}

interface Surroundings {
  readonly model: ModelReport;
  readonly options: RenderOptions;
  readonly graph: Markup | undefined;
  readonly isOpen: boolean;
}

function entryMarkup(entry: Entry, { model, options, graph, isOpen }: Surroundings): Markup {
  const { group, findings } = entry;
  const [{ node, op }] = findings;
  const saving = savingOf(group, model);
  return html`<details class="finding ${group.severity}"${isOpen ? html` open` : ""}><summary>
<span class="chip ${group.severity}">${severityText[group.severity]}</span>
<span class="code">${group.code}</span> <span class="message">${group.message}</span>
<span class="saving">${saving === undefined ? "" : html`${saving.verb} <strong>${saving.size}</strong>`}</span>
<span class="where"><span class="name">${node}</span>${moreText(entry)} (${op})</span></summary>
<div class="body">${factsMarkup(group, model, options)}${graph}${placesMarkup(findings, options)}</div></details>`;
}

const severityText = { error: "error", warn: "warning", info: "info" } as const satisfies Record<
  Severity,
  string
>;

function savingOf({ saves }: FindingGroup, { predicted }: ModelReport) {
  return saves === null || predicted.microseconds === 0
    ? undefined
    : { verb: claimVerb(saves), size: savedText(sizeOf(saves)) };
}

function factsMarkup(group: FindingGroup, model: ModelReport, { docs }: RenderOptions): Markup {
  const { saves, left, code, rule } = group;
  const hasPage = docs.some((doc) => doc.code === code);
  const rows: (readonly [string, Markup | string])[] = [
    ["Rule", hasPage ? html`<a href="#rule-${code}">${ruleTitle(code, rule)}</a>` : ruleTitle(code, rule)],
  ];
  if (saves !== null && readsAsNothing(saves)) rows.push(["Saves", "nothing"]);
  else if (saves !== null) {
    const verb = claimVerb(saves);
    rows.push([
      `${verb.slice(0, 1).toUpperCase()}${verb.slice(1)}`,
      `${duration(Math.abs(saves.microseconds))} (${savingRange(saves, saves.of)}), ${shareOfText(saves)}${storedText(saves)}`,
    ]);
    rows.push(["Of", `${duration(saves.of)}, which its kernels take now`]);
  }
  const command = commandLine(model, group);
  if (command !== undefined) rows.push(["Fix", html`<code>${command}</code>`]);
  else if (left !== null) rows.push(["--fix leaves it", left]);
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

interface PlaceColumn {
  readonly title: string;
  readonly isNumber?: boolean;
  readonly text: (finding: Finding) => string;
}

function placeColumns({ localPath }: RenderOptions): readonly PlaceColumn[] {
  return [
    { title: "Node", text: ({ node, graph }) => (graph === "graph" ? node : `${node} in ${graph}`) },
    { title: "Operator", text: ({ op }) => op },
    { title: "Module", text: ({ module }) => module ?? "" },
    {
      title: "Python",
      text: ({ source }) =>
        source === null ? "" : `${localPath(source.file) ?? source.file}:${source.line}`,
    },
    {
      title: "Saves",
      isNumber: true,
      text: ({ saves }) => (saves === null ? "" : duration(saves.microseconds)),
    },
    {
      title: "Figures",
      text: ({ data }) =>
        Object.entries(data)
          .map(([name, value]) => `${name}=${figureText(value)}`)
          .join(" "),
    },
  ];
}

/** Whole numbers are sizes, which are exact; JSON has the others with all their digits. */
function figureText(value: Finding["data"][string]): string {
  return typeof value === "number" && !Number.isInteger(value) ? significant(value) : String(value);
}

function placesMarkup(findings: readonly Finding[], options: RenderOptions): Markup {
  const shown = findings.slice(0, mostPlaces);
  const left = findings.length - shown.length;
  // Columns that say nothing are left out: not every exporter leaves lines of Python.
  const columns = placeColumns(options).filter(({ text }) => shown.some((finding) => text(finding) !== ""));
  const classOf = ({ isNumber }: PlaceColumn) => (isNumber ? html` class="num"` : "");
  const rows = shown.map(
    (finding) =>
      html`<tr>${columns.map((column) => html`<td${classOf(column)}>${column.text(finding)}</td>`)}</tr>`,
  );
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Places"><table class="places"><thead><tr>${columns.map(
    (column) => html`<th scope="col"${classOf(column)}>${column.title}</th>`,
  )}</tr></thead><tbody>${rows}</tbody></table></div>${
    left > 0 ? html`<p class="dim">${counted(left, "more place")}: -f json has all of them.</p>` : ""
  }`;
}
