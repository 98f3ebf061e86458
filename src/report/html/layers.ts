/** @file Layers by time: the rows that take longest as they are, and the data that the page's script makes the others of. */
import { counted } from "../../ir/format.ts";
import type { LayerReport } from "../../lint/result.ts";
import { barLength, columnsOf, firstRows, type LayerColumn, sortedBy, timeColumn } from "./layer-columns.ts";
import { packLayers } from "./layer-data.ts";
import { html, jsonMarkup, type Markup } from "./markup.ts";

export function layersMarkup(layers: readonly LayerReport[], id: string): Markup {
  const columns = columnsOf(layers);
  const time = columns[timeColumn];
  if (layers.length === 0 || time === undefined) return html``;
  const shown = sortedBy(layers, time, "descending").slice(0, firstRows);
  const longest = shown[0]?.share ?? 0;
  return html`<div class="layers" data-layers="${id}-layers"><div class="tools"><label>Filter
<input type="search" placeholder="node, operator, shape, code …" spellcheck="false" autocomplete="off"></label>
<span class="count" role="status">${countText(shown.length, layers.length)}</span></div>
<div class="scroll tall" tabindex="0" role="group" aria-label="Layers"><table><thead><tr>${columns.map(
    (column, index) => headMarkup(column, index === timeColumn),
  )}</tr></thead>
<tbody>${shown.map((layer) => rowMarkup(layer, columns, longest))}</tbody></table></div>
<div class="more"><button type="button" hidden>Show more</button></div>
<script type="application/json" id="${id}-layers">${jsonMarkup(packLayers(layers))}</script></div>`;
}

/** As the script writes it. */
export function countText(shown: number, all: number): string {
  return shown === all ? counted(all, "layer") : `${shown} of ${counted(all, "layer")}`;
}

function headMarkup({ title, isNumber }: LayerColumn, isSorted: boolean): Markup {
  return html`<th scope="col"${isNumber ? html` class="num"` : ""}${isSorted ? html` aria-sort="descending"` : ""}><button type="button">${title}</button></th>`;
}

function rowMarkup(layer: LayerReport, columns: readonly LayerColumn[], longest: number): Markup {
  return html`<tr>${columns.map((column) => cellMarkup(column, layer, longest))}</tr>`;
}

function cellMarkup(
  { isNumber, text, note, hint, bar }: LayerColumn,
  layer: LayerReport,
  longest: number,
): Markup {
  const small = note?.(layer) ?? "";
  const told = hint?.(layer);
  return html`<td${isNumber ? html` class="num"` : ""}${told === undefined ? "" : html` title="${told}"`}${
    bar === undefined ? "" : html` style="--share:${barLength(bar(layer), longest)}"`
  }>${text(layer)}${small === "" ? "" : html` <small>${small}</small>`}</td>`;
}
