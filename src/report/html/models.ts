/** @file The table of several models, the worst first, and each model's own section. */
import { assumedText } from "../../ir/assumed.ts";
import { compact, counted, duration, percent } from "../../ir/format.ts";
import type { ModelReport } from "../../lint/result.ts";
import { predictedIn } from "../account-text.ts";
import { budgetText } from "../budget-text.ts";
import { afterAllNote, closingColumns, worstFirst } from "../closing-table.ts";
import { countedNotes } from "../entries.ts";
import { profileNotes, tensorCoreText, timeNote, whereText } from "../profile-text.ts";
import type { RenderOptions } from "../render.ts";
import { modelsText, titled } from "../scenarios.ts";
import { isUnpriced, pricedText, unpricedText, whyUnpriced } from "../unpriced.ts";
import { accountMarkup } from "./account.ts";
import { findingsMarkup } from "./findings.ts";
import { layersMarkup } from "./layers.ts";
import { at, html, type Markup } from "./markup.ts";
import { rooflineMarkup } from "./roofline.ts";

/** Models with a section of their own; the others stand in the table. */
const mostSections = 200;
/** Sections that stand open. */
const mostOpen = 2;
/** Layers on one page, of all its models: what a browser reads in a second or two. */
const mostLayers = 300_000;
const mostListed = 20;

export function modelsMarkup(models: readonly ModelReport[], options: RenderOptions): Markup {
  const sorted = worstFirst(models);
  let room = mostLayers;
  const sections = sorted.slice(0, mostSections).map((model, index) => {
    const count = model.layers?.length ?? 0;
    const hasRoom = count <= room;
    if (hasRoom) room -= count;
    return sectionMarkup(model, {
      id: `model-${index + 1}`,
      options,
      hasRoom,
      isOpen: index < mostOpen,
    });
  });
  const left = sorted.length - sections.length;
  return html`${sorted.length > 1 ? tableMarkup(sorted) : ""}${sections}${
    left > 0
      ? html`<p class="dim">${counted(left, "more model")} in the table alone: -f json has all of them.</p>`
      : ""
  }`;
}

function tableMarkup(models: readonly ModelReport[]): Markup {
  const columns = closingColumns(models);
  const note = afterAllNote(models);
  const rows = models.map(
    (model, index) =>
      html`<tr>${columns.map(({ text, alignment }, at) => {
        const shown = text(model);
        const cell =
          at === 0 && index < mostSections ? html`<a href="#model-${index + 1}">${shown}</a>` : shown;
        return alignment === "right" ? html`<td class="num">${cell}</td>` : html`<td>${cell}</td>`;
      })}</tr>`,
  );
  return html`<section aria-labelledby="models"><h2 id="models">${modelsText(models)}, the worst first</h2>
<div class="scroll" tabindex="0" role="group" aria-label="Models"><table class="models"><thead><tr>${columns.map(
    ({ title, alignment }) =>
      html`<th scope="col"${alignment === "right" ? html` class="num"` : ""}>${title}</th>`,
  )}</tr></thead><tbody>${rows}</tbody></table></div>${note === undefined ? "" : html`<p class="dim">${note}</p>`}</section>`;
}

interface Section {
  readonly id: string;
  readonly options: RenderOptions;
  readonly hasRoom: boolean;
  readonly isOpen: boolean;
}

function sectionMarkup(model: ModelReport, { id, options, hasRoom, isOpen }: Section): Markup {
  const { error, layers, ceilings, nodes } = model;
  const failure =
    error === null ? "" : html`<p class="failure"><strong>${error.code}</strong> ${error.message}</p>`;
  const body =
    nodes === 0
      ? ""
      : html`${headMarkup(model, options)}
${isUnpriced(model) ? "" : html`<h3>Account</h3>${accountMarkup(model.account)}`}
<h3>Findings</h3>${findingsMarkup(model, options)}
${layers === undefined || ceilings === undefined || !hasRoom ? "" : html`<h3>Roofline</h3>${rooflineMarkup(layers, ceilings)}`}
${layers === undefined ? "" : html`<h3>Layers by time</h3>${hasRoom ? layersMarkup(layers, id) : html`<p class="dim">${counted(layers.length, "layer")}, too many beside the other models: -f csv has them.</p>`}`}`;
  return html`<details class="model" id="${id}"${isOpen ? html` open` : ""}><summary><h2 class="name">${titled(model).path}</h2></summary>
${failure}${budgetsMarkup(model)}${body}${notesMarkup(model)}</details>`;
}

/** Before all else that is said of a model: the exceeded ones are why its run fails. */
function budgetsMarkup({ budgets = [] }: ModelReport): Markup {
  return html`${budgets.map(
    (report) =>
      html`<p class="${report.verdict === "exceeded" ? "failure" : "dim"}">${budgetText(report)}</p>`,
  )}`;
}

function headMarkup(model: ModelReport, { describeTarget, bytesOf }: RenderOptions): Markup {
  const { target, producer, opset, nodes, parameters } = model;
  const share = tensorCoreText(model);
  const { range, basis } = timeNote(model);
  const left = unpricedText(model);
  const note = isUnpriced(model)
    ? whyUnpriced(model)
    : [range, ...(left === undefined ? [] : [left]), basis].join("; ");
  const bytes = bytesOf(model.path);
  const opsets = Object.entries(opset).map(([domain, version]) =>
    domain === "ai.onnx" ? `opset ${version}` : `${domain} ${version}`,
  );
  const facts = [
    producer,
    ...opsets,
    counted(nodes, "node"),
    `${compact(parameters)} parameters`,
    bytes === undefined ? "" : `${compact(bytes)}B`,
  ];
  return html`<p class="dim">${facts.filter((fact) => fact !== "").join(" · ")}</p>
<div class="tiles">${tile(`${model.profile === undefined ? "Predicted" : "Measured"}, one run`, pricedText(model), note)}${
    share === undefined ? "" : tile("On Tensor Cores", share, "of the time")
  }${tile("Target", whereText(describeTarget(target), model), predictedIn(model), true)}${familiesMarkup(model)}</div>`;
}

function tile(title: string, value: string, note: string, isText = false): Markup {
  return html`<div class="tile"><div class="title">${title}</div><div class="${isText ? "words" : "value"}">${value}</div><div class="dim">${note}</div></div>`;
}

function familiesMarkup({ predicted: { families, microseconds } }: ModelReport): Markup {
  const shown = Object.entries(families).filter(([, each]) => each > 0);
  const share = (each: number) => (microseconds > 0 ? each / microseconds : 0);
  return html`<div class="tile wide"><div class="title">By work</div><div class="stack" aria-hidden="true">${shown.map(
    ([family, each]) => html`<span class="${family}" style="width:${at(100 * share(each))}%"></span>`,
  )}</div><div class="legend">${shown.map(
    ([family, each]) =>
      html`<span class="entry"><span class="key ${family}"></span>${family} ${duration(each)} (${percent(share(each))})</span> `,
  )}</div></div>`;
}

function notesMarkup(model: ModelReport): Markup {
  const { suppressed, assumed, symbols, configFiles, notices, skipped } = model;
  const lines = [
    ...profileNotes(model),
    ...countedNotes(model),
    ...(suppressed > 0 ? [`${counted(suppressed, "finding")} suppressed`] : []),
    ...assumedText(assumed, symbols),
    ...(configFiles.length > 0 ? [`configured by ${configFiles.join(", ")}`] : []),
    ...notices.map(({ message }) => message),
    ...skipped
      .slice(0, mostListed)
      .map(({ node, op, reason }) => `not looked at: ${node} (${op}): ${reason}`),
    ...(skipped.length > mostListed ? [`${skipped.length - mostListed} more nodes not looked at`] : []),
  ];
  return lines.length === 0
    ? html``
    : html`<h3>Notes</h3><ul class="notes">${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}
