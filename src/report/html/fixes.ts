/** @file Repairs, done or not: where a model stood before and after, what was measured, and what changed in its graph. */
import { assumedText } from "../../ir/assumed.ts";
import { counted, duration, significant } from "../../ir/format.ts";
import { type FixView, headlineOf, slowerText } from "../fix-view.ts";
import { measuredLines } from "../measured-text.ts";
import { accountMarkup } from "./account.ts";
import { html, type Markup } from "./markup.ts";

/** Changed nodes and tensors that are listed of each model. */
const mostChanges = 300;

export function fixesMarkup(fixes: readonly FixView[]): Markup {
  if (fixes.length === 0) return html``;
  return html`<section class="fixes" aria-labelledby="repairs"><h2 id="repairs">Repairs</h2>${fixes.map(fixMarkup)}</section>`;
}

function fixMarkup(fix: FixView): Markup {
  const { path, destination, error, account, assumed, notes, measurement } = fix;
  const where = destination === path ? "" : html` → <span class="name">${destination}</span>`;
  const headline = headlineOf(fix);
  const times =
    headline === undefined
      ? ""
      : html`<p class="figure"><strong>${duration(headline.before)}</strong> → <strong>${duration(headline.after)}</strong> predicted, one run${headline.stored}</p>`;
  const beside = headline?.inTarget;
  const inTarget = beside === undefined ? "" : html`<p class="dim">${beside}</p>`;
  const slower = slowerText(fix);
  const cost = slower === undefined ? "" : html`<p>${slower}</p>`;
  const sizes = assumedText(Object.keys(assumed), assumed).map((text) => html`<p class="dim">${text}</p>`);
  return html`<article class="fix"><h3><span class="name">${path}</span>${where}</h3><p class="dim">${stateOf(fix)}</p>${
    error === null ? "" : html`<p class="failure"><strong>${error.code}</strong> ${error.message}</p>`
  }${times}${inTarget}${cost}${sizes}${account === null ? "" : accountMarkup(account)}${
    measurement == null
      ? ""
      : html`<h4>Measured</h4><pre tabindex="0">${measuredLines(measurement).map((line) => [line, html`\n`])}</pre>`
  }${notes.length === 0 ? "" : html`<ul class="notes">${notes.map(({ pass, kind, message }) => html`<li><span class="code">${pass}</span> <span class="dim">${kind}</span> ${message}</li>`)}</ul>`}${diffMarkup(fix)}</article>`;
}

function stateOf({ error, changed, written, proof }: FixView): string {
  if (error !== null) return "Not repaired.";
  if (!changed) return "Nothing to change.";
  if (!written) return "Not written: what a repair would change.";
  return proof == null ? "Written." : `Written; ${proof.kind}: ${proof.summary}`;
}

function diffMarkup({ diff }: FixView): Markup {
  if (diff === null || diff.nodes.length + diff.tensors.length === 0) return html``;
  const { nodes, tensors, addedElements } = diff;
  const summary = [counted(nodes.length, "node"), counted(tensors.length, "tensor")].join(" and ");
  const nodeRows = nodes
    .slice(0, mostChanges)
    .map(
      ({ kind, name, op, details }) =>
        html`<tr class="${kind}"><td>${kind}</td><td>${name}</td><td>${op}</td><td>${details.join("; ")}</td></tr>`,
    );
  const tensorRows = tensors
    .slice(0, mostChanges)
    .map(
      ({ name, before, after }) =>
        html`<tr><td>tensor</td><td>${name}</td><td></td><td>${before ?? "(none)"} → ${after ?? "(none)"}</td></tr>`,
    );
  const left = Math.max(0, nodes.length - mostChanges) + Math.max(0, tensors.length - mostChanges);
  return html`<details open><summary>${summary} changed, ${significant(addedElements)} elements added</summary>
<div class="scroll" tabindex="0" role="group" aria-label="Changes"><table class="changes"><thead><tr><th scope="col">Change</th><th scope="col">Name</th
><th scope="col">Operator</th><th scope="col">Before → after</th></tr></thead><tbody>${nodeRows}${tensorRows}</tbody></table></div>${
    left > 0 ? html`<p class="dim">${counted(left, "more change")}: -f json has all of them.</p>` : ""
  }</details>`;
}
